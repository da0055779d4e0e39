# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel. build_wheel.py does so for a checkout.

LAGWATCH_INCLUDE and LAGWATCH_LIBRARY are the folder of lagwatch/c.h and the library liblagwatch.so.0; default: those of
the system. LAGWATCH_BUNDLE=0 makes a wheel without a copy of the library, which takes that of the Debian package.
"""
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

SONAME = "liblagwatch.so.0"
LIBRARY = os.environ.get("LAGWATCH_LIBRARY", "")
IS_BUNDLED = os.environ.get("LAGWATCH_BUNDLE", "1") != "0"


def oldest_glibc(files):
    """The minor version of the oldest glibc 2 that has what the files need."""
    text = subprocess.run(["readelf", "--wide", "--version-info", *files], check=True, capture_output=True, text=True).stdout
    return max(int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", text))


class BuildExt(build_ext):
    """The module, and beside it the library."""

    def build_extension(self, extension):
        super().build_extension(extension)
        module = pathlib.Path(self.get_ext_fullpath(extension.name))
        files = [module]
        if LIBRARY and IS_BUNDLED:
            files.append(shutil.copyfile(LIBRARY, module.parent / SONAME))
        subprocess.run(["strip", "--strip-unneeded", *files], check=True)
        BuildExt.glibc = oldest_glibc(files)


class BdistWheel(bdist_wheel):
    """For each CPython from 3.9 on."""

    def get_tag(self):
        _, _, platform = super().get_tag()
        if IS_BUNDLED:  # what pip looks at before it installs
            platform = platform.replace("linux", f"manylinux_2_{BuildExt.glibc}", 1)
        return "cp39", "abi3", platform


setup(
    ext_modules=[
        Extension(
            "lagwatch._native",
            ["native/hooks.c", "native/loops.c", "native/module.c", "native/scopes.c", "native/tags.c", "native/waits.c"],
            depends=["native/module.h"],
            define_macros=[("Py_LIMITED_API", "0x03090000")],
            py_limited_api=True,
            include_dirs=[path for path in os.environ.get("LAGWATCH_INCLUDE", "").split(":") if path],
            extra_compile_args=["-O2", "-g0", "-fvisibility=hidden", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra",
                                "-ffile-prefix-map=" + os.getcwd() + "=."],
            extra_link_args=[*([LIBRARY] if LIBRARY else ["-llagwatch"]), "-Wl,-rpath,$ORIGIN", "-Wl,-z,now"],
        )
    ],
    cmdclass={"build_ext": BuildExt, "bdist_wheel": BdistWheel},
)
