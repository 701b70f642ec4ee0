"""The generators of random, numpy and torch, as far as they are imported."""

import ctypes
import hashlib
import random
import struct
import sys


def hash_of(numbers):
    packed = struct.pack(f"<{len(numbers)}Q", *(number & (2**64 - 1) for number in numbers))
    return hashlib.blake2b(packed, digest_size=8)


def seed_of(*numbers):
    """64 bits that depend on whole numbers."""
    return int.from_bytes(hash_of(numbers).digest(), "little")


def numpy_state():
    name, keys, *rest = sys.modules["numpy"].random.get_state()
    return (name, keys.tobytes(), *rest)


def numpy_mark():
    """As random_mark; the state itself is slow to get."""
    generator = getattr(sys.modules["numpy"].random, "get_bit_generator", lambda: None)()
    if type(generator).__name__ != "MT19937":
        return numpy_state()
    if generator is not NUMPY_WORDS[0]:
        NUMPY_WORDS[:] = generator, (ctypes.c_uint32 * 625).from_address(generator.ctypes.state_address)
    words = NUMPY_WORDS[1]
    return words[624], words[0], words[1]


NUMPY_WORDS = [None, None]  # the generator whose words were found last, and they: 624 words and the place in them


def find_words_of_random():
    """The place in the words of `random` and behind it the words, where CPython keeps them; None if it does not."""
    generator, words = random.getstate.__self__, random.getstate()[1]
    kind = ctypes.c_uint32 * len(words)
    if sys.implementation.name != "cpython" or object.__basicsize__ + ctypes.sizeof(kind) > type(generator).__basicsize__:
        return None
    found = kind.from_address(id(generator) + object.__basicsize__)
    return found if (*found[1:], found[0]) == words else None


RANDOM_WORDS = find_words_of_random()


def random_mark():
    """The place in the words, the first of them, and the half of a pair that is left; the others follow from these."""
    if RANDOM_WORDS is not None:  # the state itself is slow to get
        return RANDOM_WORDS[0], RANDOM_WORDS[1], RANDOM_WORDS[2], random.getstate.__self__.gauss_next
    _, words, left = random.getstate()
    return words[-1], words[0], words[1], left


def set_numpy_state(state):
    import numpy

    name, keys, *rest = state
    numpy.random.set_state((name, numpy.frombuffer(keys, dtype=numpy.uint32), *rest))


def torch_state():
    state = sys.modules["torch"].default_generator.get_state()
    return state.numpy().tobytes() if "numpy" in sys.modules else bytes(state.tolist())


def set_torch_state(state):
    import torch

    torch.default_generator.set_state(torch.tensor(list(state), dtype=torch.uint8))


# By module: what it has once it is imported whole, and how its generator is seeded.
SEED = {
    "random": ("seed", random.seed),
    "numpy": ("random", lambda seed: sys.modules["numpy"].random.seed(seed % 2**32)),
    "torch": ("default_generator", lambda seed: sys.modules["torch"].default_generator.manual_seed(seed)),
}
STATE = {"random": random.getstate, "numpy": numpy_state, "torch": torch_state}
MARK = {**STATE, "random": random_mark, "numpy": numpy_mark}
SET_STATE = {"random": random.setstate, "numpy": set_numpy_state, "torch": set_torch_state}


def imported():
    return [name for name, (part, _) in SEED.items() if hasattr(sys.modules.get(name), part)]


def seed_generators(seed, names=tuple(SEED)):
    for name in imported():
        if name in names:
            SEED[name][1](seed)


class SampleSeeds:
    """Seeds generators by name for samples, by `seed_of` of the numbers and the sample's index."""

    index_bytes = struct.Struct("<Q").pack

    def __init__(self, numbers, names):
        self.hash = hash_of(numbers)
        self.generators = [SEED[name][1] for name in imported() if name in names]

    def seed(self, index):
        own = self.hash.copy()
        own.update(self.index_bytes(index))
        seed = int.from_bytes(own.digest(), "little")
        for generator in self.generators:
            generator(seed)


def generator_states():
    return {name: STATE[name]() for name in imported()}


def generator_marks(but=()):
    """Values that differ once a generator that was seeded has given a number, of all generators but some."""
    return {name: MARK[name]() for name in imported() if name not in but}


def set_generator_states(states):
    for name, state in states.items():
        SET_STATE[name](state)
