"""levin for Conan 2: conan create packaging/conan -o "levin/*:python=/path/to/python"

LibTorch is that of the Python named by the option `python`, or of .venv, or the system's. The other libraries are the system's packages,
since LibTorch is none of Conan's: Conan installs them where it may (-c tools.system.package_manager:mode=install).
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0"


class Levin(ConanFile):
    name = "levin"
    license = "MIT"
    description = "Lightning-style training for LibTorch"
    topics = ("machine-learning", "libtorch", "training")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "program": [True, False], "python": ["ANY"]}
    default_options = {"shared": True, "program": True, "python": ""}

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        text = load(self, os.path.join(self._checkout, "CMakeLists.txt"))
        self.version = re.search(r"project\(levin VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        copy(self, "*", src=self._checkout, dst=self.export_sources_folder,
             excludes=("build/*", ".venv/*", ".git/*", "levin_runs/*", "shared/*"))

    def validate(self):
        check_min_cppstd(self, 20)

    def system_requirements(self):
        Apt(self).install(["ninja-build", "zlib1g-dev", "libspdlog-dev", "nlohmann-json3-dev", "libcli11-dev", "libjpeg-dev",
                           "libpng-dev", "libtiff-dev", "libwebp-dev", "libarchive-dev", "libcurl4-openssl-dev", "libssl-dev",
                           "libpcre2-dev", "libicu-dev", "libhdf5-dev"], check=True)

    def layout(self):
        cmake_layout(self, generator="Ninja")

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables.update({
            "LEVIN_BUILD_PROGRAM": bool(self.options.program),
            "LEVIN_BUILD_TESTS": False,
            "LEVIN_BUILD_EXAMPLES": False,
            "LEVIN_BUILD_BENCHMARKS": False,
            "LEVIN_PYTHON": str(self.options.python),
            "CMAKE_UNITY_BUILD": True,
            "CMAKE_UNITY_BUILD_BATCH_SIZE": "12",
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # levin's own levinConfig.cmake makes levin::levin and levin::program.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "levin")]
        self.cpp_info.libs = ["levin_program", "levin", "levin_weights"]
        self.runenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))
