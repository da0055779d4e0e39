# SPDX-License-Identifier: Apache-2.0
"""The library as a package of Conan 2, from the checkout that this file is in: conan create packaging/conan"""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class LagwatchConan(ConanFile):
    name = "lagwatch"
    version = "0.2.0"
    license = "Apache-2.0"
    description = "Finds the code that froze a program"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"
    requires = ("libcurl/[>=7.88 <9]", "nlohmann_json/[>=3.11 <4]", "openssl/[>=3 <4]", "protozero/[>=1.7 <2]",
                "xz_utils/[>=5.4 <6]", "zlib/[>=1.2.13 <2]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("the library is for Linux")

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for folder in ("base", "cmake", "policies", "report", "sdk", "stack", "trace", "watchdog"):
            copy(self, "*", os.path.join(root, folder), os.path.join(self.export_sources_folder, folder))
        for file in ("CMakeLists.txt", "LICENSE"):
            copy(self, file, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for switch in ("DEVELOPER_MODE", "BUILD_COMMANDS", "BUILD_COLLECTOR"):
            toolchain.cache_variables[f"LAGWATCH_{switch}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The files that the library installs itself.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/lagwatch"]
        self.cpp_info.libs = ["lagwatch"]
