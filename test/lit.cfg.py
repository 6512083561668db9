# How the tests of this folder are run: see CONTRIBUTING.md.

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import sys

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".attn", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.attn_test_build

# The build's tools come first, then LLVM's (FileCheck, not, mlir-opt, ...).
config.environment["PATH"] = os.pathsep.join(
    [config.attn_tools, config.llvm_tools, os.environ["PATH"]]
)
# What scripts of several folders share.
config.environment["PYTHONPATH"] = os.path.join(config.test_source_root, "Inputs")
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["FILECHECK_OPTS"] = "-enable-var-scope -dump-input-filter=error"

config.available_features.add(config.build_type)
compile_flags = []
if config.sanitize:
    config.available_features.add("sanitize")
    compile_flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    config.environment["ASAN_SYMBOLIZER_PATH"] = os.path.join(
        config.llvm_tools, "llvm-symbolizer"
    )

# The benchmark's workers are built on demand, and without sanitizers.
for name in () if config.sanitize else ("bench_products", "bench_read"):
    if os.path.exists(os.path.join(config.attn_tools, name)):
        config.available_features.add(name)
    else:
        lit_config.note(f"no {name} (target bench): its test is skipped")

if shutil.which("valgrind"):
    config.available_features.add("valgrind")

# NVIDIA's assembler: scripts/setup puts it there.
ptxas = shutil.which("ptxas") or shutil.which(
    os.path.join(config.attn_root, "build", "ptxas", "nvidia", "cuda_nvcc", "bin", "ptxas")
)
if ptxas:
    config.available_features.add("ptxas")
else:
    lit_config.note("no ptxas: kernels for NVIDIA are compiled, but not assembled")

# Halide is optional.
if os.path.exists(os.path.join(config.attn_tools, "attn-halide")):
    config.available_features.add("halide")
else:
    lit_config.note("no attn-halide (libhalide14-0-dev): its kernels are not tested")

# A device of OpenCL; PoCL is one that every machine can have.
try:
    platforms = ctypes.c_uint(0)
    ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(platforms))
except OSError:
    platforms = ctypes.c_uint(0)
if platforms.value:
    config.available_features.add("opencl")
else:
    lit_config.note("no device of OpenCL (ocl-icd-libopencl1, pocl-opencl-icd): kernels for it are not run")

# A device of Vulkan; Mesa's lavapipe is one that every machine can have.
devices = subprocess.run(
    [os.path.join(config.attn_tools, "attn-run"), "--list-devices"],
    capture_output=True,
    text=True,
    check=False,
)
if "vulkan:0" in devices.stdout:
    config.available_features.add("vulkan")
else:
    lit_config.note("no device of Vulkan: kernels for it are compiled, but not run")
# What drivers make of kernels is kept for all tests.
config.environment["MESA_SHADER_CACHE_DIR"] = os.path.join(config.attn_test_build, "shaders")

# The tests that run models do so on a device with `-D target=vulkan`: there, attnc
# compiles for it, and the libraries open it by themselves. With `-D kernels=halide`
# they run kernels that Halide makes.
variants = {
    option: lit_config.params[option]
    for option in ("target", "kernels")
    if option in lit_config.params
}
for option, value in variants.items():
    # Without a device, or Halide, there is nothing to run.
    if value not in config.available_features:
        config.unsupported = True
    config.available_features.add(f"{option}={value}")
if variants:
    name = "-".join(variants.values())
    config.name = f"attn-{name}"
    config.test_exec_root = os.path.join(config.attn_test_build, name)
    config.excludes += (
        folder
        for folder in os.listdir(config.test_source_root)
        if folder not in ("examples", "library", "models")
    )
    tools = os.path.join(config.test_exec_root, "bin")
    os.makedirs(tools, exist_ok=True)
    attnc = os.path.join(tools, "attnc")
    with open(attnc, "w", encoding="utf-8") as script:
        compiler = shlex.quote(os.path.join(config.attn_tools, "attnc"))
        options = " ".join(f"--{option}={value}" for option, value in variants.items())
        script.write(f'#!/bin/sh\nexec {compiler} {options} "$@"\n')
    os.chmod(attnc, 0o755)
    config.environment["PATH"] = tools + os.pathsep + config.environment["PATH"]

# What the processor has, for tests that compile code for several.
if platform.machine() == "x86_64":
    config.available_features.add("x86")
    with open("/proc/cpuinfo") as cpuinfo:
        flags = next((line for line in cpuinfo if line.startswith("flags")), "").split()
    if {"avx2", "fma"} <= set(flags):
        config.available_features.add("avx2")
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(flags):
        config.available_features.add("avx512")
    else:
        lit_config.note("no AVX-512 on this machine: code for it is compiled, but not run")


def command(*words):
    return " ".join(shlex.quote(word) for word in words)


def add_substitution(name, value):
    config.substitutions.append(("%" + name + r"\b", value.replace("\\", r"\\")))


add_substitution("root", command(config.attn_root))
add_substitution("build", command(config.attn_build))
if ptxas:
    add_substitution("ptxas", command(ptxas))
add_substitution("python", command(sys.executable))
add_substitution("cc", command(config.c_compiler, *compile_flags))
add_substitution("cxx_path", command(config.cxx_compiler))
add_substitution("cxx", command(config.cxx_compiler, "-std=c++20", *compile_flags))
add_substitution(
    "check_reference",
    command(sys.executable, os.path.join(config.test_source_root, "models", "check_reference.py")),
)

if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")

# Reference data that is not part of the project: beside the checkout, or where
# ATTN_SHARED says.
shared = os.path.abspath(
    os.environ.get("ATTN_SHARED") or os.path.join(config.attn_root, "..", "shared")
)
if os.path.isdir(os.path.join(shared, "models")):
    config.available_features.add("shared")
    add_substitution("shared", command(shared))
else:
    lit_config.note(
        f"no reference data in {shared}: tests that need it are skipped; "
        "ATTN_SHARED names another place"
    )
