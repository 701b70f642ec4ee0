"""Stands for torchvision, which timm imports and its classifiers do not use. `install` does nothing where it is there."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types


class Named(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Anything(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision" or name.startswith("torchvision."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        pass


def install():
    if importlib.util.find_spec("torchvision") is None:
        sys.meta_path.insert(0, Finder())
