# SPDX-License-Identifier: Apache-2.0
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="cuda_demo",
    version="0.1.0",
    ext_modules=[
        CUDAExtension(
            "cuda_demo",
            ["python/bindings.cpp", "src/reduce.cu", "src/select.cu", "src/quantile.cu"],
            include_dirs=["include"],
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "--use_fast_math", "-gencode=arch=compute_80,code=sm_80"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
