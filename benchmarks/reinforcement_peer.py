"""Trains one PPO or DQN of Stable-Baselines3 on Gymnasium's CartPole-v1 until it is solved, and prints a line of JSON.

usage: reinforcement_peer.py ppo|dqn SEED [--settings tuned|ours]

`tuned` are the settings that RL Baselines3 Zoo publishes for CartPole-v1; `ours` are those of examples/cartpole and
examples/dqn_replay, as far as Stable-Baselines3 has them. As in the examples, a policy is evaluated after each 2,048 steps
of the environment by 20 episodes, whose time does not count, and the training ends at a mean return of 475.
"""

import argparse
import json
import time

import gymnasium
import numpy
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

STEPS = 500_000  # as the examples: at most so many


def falling(start):
    """A value that falls from `start` to 0 over the training."""
    return lambda left: left * start


SETTINGS = {
    ("ppo", "tuned"): {"n_envs": 8, "total": 100_000, "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98,
                       "n_epochs": 20, "ent_coef": 0.0, "learning_rate": falling(0.001), "clip_range": falling(0.2)},
    ("ppo", "ours"): {"n_envs": 128, "total": STEPS, "n_steps": 16, "batch_size": 1024, "gae_lambda": 0.95, "gamma": 0.98,
                      "n_epochs": 5, "ent_coef": 0.0, "learning_rate": 0.003, "clip_range": 0.2,
                      "policy_kwargs": {"net_arch": [32, 32]}},
    ("dqn", "tuned"): {"n_envs": 1, "total": 50_000, "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000,
                       "learning_starts": 1000, "gamma": 0.99, "target_update_interval": 10, "train_freq": 256,
                       "gradient_steps": 128, "exploration_fraction": 0.16, "exploration_final_eps": 0.04,
                       "policy_kwargs": {"net_arch": [256, 256]}},
    ("dqn", "ours"): {"n_envs": 32, "total": STEPS, "learning_rate": 0.004, "batch_size": 64, "buffer_size": 50_000,
                      "learning_starts": 1000, "gamma": 0.98, "target_update_interval": 1024, "train_freq": 8,
                      "gradient_steps": 16, "n_steps": 3, "exploration_fraction": 4000 / STEPS,
                      "exploration_final_eps": 0.02, "policy_kwargs": {"net_arch": [32, 32]}},
}


class UntilSolved(BaseCallback):
    """Ends the training once 20 episodes have a mean return of 475."""

    def __init__(self, every=2048, target=475):
        super().__init__()
        self.every, self.target, self.next = every, target, every
        self.result, self.seconds, self.cpu_seconds = 0.0, 0.0, 0.0
        self.environments = [gymnasium.make("CartPole-v1") for _ in range(20)]

    def start_clock(self):
        self.begin, self.cpu_begin = time.perf_counter(), time.process_time()

    def stop_clock(self):
        self.seconds += time.perf_counter() - self.begin
        self.cpu_seconds += time.process_time() - self.cpu_begin

    def mean_return(self):
        seen = numpy.stack([one.reset(seed=self.num_timesteps + i)[0] for i, one in enumerate(self.environments)])
        running, total = list(range(20)), 0
        while running:
            actions, _ = self.model.predict(seen[running], deterministic=True)
            total += len(running)
            for i, action in zip(tuple(running), actions):
                seen[i], _, terminated, truncated, _ = self.environments[i].step(int(action))
                if terminated or truncated:
                    running.remove(i)
        return total / 20

    def _on_step(self):
        return self.result < self.target

    # Before a rollout, the newest policy is there; DQN and PPO call it alike.
    def _on_rollout_start(self):
        if self.num_timesteps < self.next:
            return
        self.next = self.num_timesteps + self.every
        self.stop_clock()
        self.result = self.mean_return()
        self.start_clock()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithm", choices=["ppo", "dqn"])
    parser.add_argument("seed", type=int)
    parser.add_argument("--settings", choices=["tuned", "ours"], default="tuned")
    options = parser.parse_args()
    settings = dict(SETTINGS[options.algorithm, options.settings])
    environments = make_vec_env("CartPole-v1", n_envs=settings.pop("n_envs"), seed=options.seed)
    total = settings.pop("total")
    until_solved = UntilSolved()
    model = {"ppo": PPO, "dqn": DQN}[options.algorithm]("MlpPolicy", environments, seed=options.seed, device="cpu", **settings)
    until_solved.start_clock()
    model.learn(total, callback=until_solved)
    until_solved.stop_clock()
    print(json.dumps({"algorithm": options.algorithm, "seed": options.seed, "seconds": until_solved.seconds,
                      "cpu_seconds": until_solved.cpu_seconds, "steps": model.num_timesteps, "return": until_solved.result,
                      "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
