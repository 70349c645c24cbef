/* SPDX-License-Identifier: Apache-2.0
 * hazard_table_build.c: rules SP11xx and SP13xx: build files and Python. */
#include "port/hazard_table.h"

const struct hazard_rule hazard_table_build[] = {
    {HZ_B1,
     "SP1101",
     "B1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_MAKE,
     true,
     {"nvcc or one of its flags in a build file", "构建文件中的 nvcc 或其选项"},
     {"The compiler is hipcc (or clang++ -x hip); each flag's counterpart and reason are in the "
      "finding. Name the targets: --offload-arch=gfx90a --offload-arch=gfx942.",
      "编译器为 hipcc（或 clang++ -x hip）；每个选项的对应写法与原因见提示。目标写作 "
      "--offload-arch=gfx90a --offload-arch=gfx942。"},
     "Clang HIP support; xformers #1162; HIP #3764",
     "k.o: k.cu\n\tnvcc -gencode arch=compute_80,code=sm_80 -c k.cu -o k.o\n",
     "# nvcc -gencode was used here\nk.o: k.c\n\tcc -c k.c -o k.o\n"},
    {HZ_B2,
     "SP1102",
     "B2",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_CMAKE,
     true,
     {"CUDA in a CMake file", "CMake 文件中的 CUDA"},
     {"enable_language(HIP) (CMake 3.21 or later), CMAKE_HIP_ARCHITECTURES \"gfx90a;gfx942\", "
      "LANGUAGE HIP on .cu files; the CUDA:: targets become hip::, roc:: ones.",
      "使用 enable_language(HIP)（CMake 3.21 及以上）、CMAKE_HIP_ARCHITECTURES "
      "\"gfx90a;gfx942\"，对 .cu 文件设置 "
      "LANGUAGE HIP；CUDA:: 目标改为 hip::、roc:: 目标。"},
     "CMake documentation, HIP language; HIP #732",
     "cmake_minimum_required(VERSION 3.18)\nproject(x LANGUAGES CXX CUDA)\n",
     "cmake_minimum_required(VERSION 3.21)\nproject(cuda_free LANGUAGES CXX HIP) # was CUDA\n"},
    {HZ_B3,
     "SP1103",
     "B3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_SETUP,
     true,
     {"CUDA in a Python build script", "Python 构建脚本中的 CUDA"},
     {"CUDAExtension itself needs no change: PyTorch for ROCm runs hipify and hipcc on its "
      "sources. "
      "nvcc's flags, architecture lists and CUDA libraries in it do; headers must lie in "
      "include_dirs to be converted.",
      "CUDAExtension 本身无需修改：ROCm 版 PyTorch 会对源文件运行 hipify 与 hipcc。其中的 nvcc "
      "选项、架构列表和 CUDA "
      "库需要修改；头文件必须位于 include_dirs 中才会被转换。"},
     "PyTorch cpp_extension; mmcv #1898; apex PR #53",
     "from torch.utils.cpp_extension import CUDAExtension\n"
     "ext = CUDAExtension('x', ['x.cu'], extra_compile_args={'nvcc': ['--extended-lambda']})\n",
     "from torch.utils.cpp_extension import CUDAExtension\n"
     "ext = CUDAExtension('x', ['x.cu'], extra_compile_args={'nvcc': ['-O3']})\n"},
    {HZ_PY_NVML,
     "SP1301",
     "Y1",
     HAZARD_ERROR,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"NVML or nvidia-smi from Python", "Python 中使用 NVML 或 nvidia-smi"},
     {"Use amdsmi (ROCm's Python package) or torch.cuda.mem_get_info; rocm-smi --json replaces "
      "nvidia-smi --query-gpu.",
      "请用 amdsmi（ROCm 的 Python 包）或 torch.cuda.mem_get_info；rocm-smi --json 可替代 "
      "nvidia-smi --query-gpu。"},
     "AMD SMI documentation",
     "import pynvml\npynvml.nvmlInit()\n",
     "# import pynvml\nname = 'pynvml is gone'\n"},
    {HZ_PY_CUPY,
     "SP1302",
     "Y2",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"CuPy, Numba CUDA or PyCUDA", "CuPy、Numba CUDA 或 PyCUDA"},
     {"CuPy has ROCm builds (cupy-rocm-*) without every routine, and its RawKernel sources are "
      "CUDA; "
      "numba.cuda and pycuda have no ROCm back end: use torch, Triton or HIP Python.",
      "CuPy 有 ROCm 版本（cupy-rocm-*），但并非全部功能，其 RawKernel 源码是 CUDA；numba.cuda 与 "
      "pycuda 没有 ROCm "
      "后端：请用 torch、Triton 或 HIP Python。"},
     "CuPy documentation, ROCm limitations",
     "import cupy as cp\nx = cp.zeros(3)\n",
     "import numpy as cp\nx = cp.zeros(3)  # not cupy\n"},
    {HZ_PY_FP8,
     "SP1303",
     "Y3",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"FP8 format or library of NVIDIA", "NVIDIA 的 FP8 格式或库"},
     {"torch.float8_e4m3fn holds up to 448; gfx942 computes in float8_e4m3fnuz, up to 240: convert "
      "weights, double scales, take torch.finfo(dtype).max. transformer_engine and apex need their "
      "ROCm forks.",
      "torch.float8_e4m3fn 最大 448；gfx942 使用 float8_e4m3fnuz，最大 "
      "240：请转换权重、缩放因子加倍、用 "
      "torch.finfo(dtype).max。transformer_engine 与 apex 需使用 ROCm 分支。"},
     "HIP documentation, FP8 numbers; torchao PR #4130",
     "import torch\nw = x.to(torch.float8_e4m3fn)\n",
     "import torch\nw = x.to(torch.float16)\n"},
    {HZ_PY_SM,
     "SP1304",
     "Y4",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"compute capability in Python", "Python 中的计算能力判断"},
     {"torch.cuda.get_device_capability answers (9, 0) or (9, 4) on Instinct, which reads like "
      "Hopper. Test torch.version.hip and get_device_properties(0).gcnArchName; "
      "TORCH_CUDA_ARCH_LIST becomes PYTORCH_ROCM_ARCH=\"gfx90a;gfx942\".",
      "在 Instinct 上 torch.cuda.get_device_capability 返回 (9, 0) 或 (9, 4)，看起来像 "
      "Hopper。请检查 "
      "torch.version.hip 与 get_device_properties(0).gcnArchName；TORCH_CUDA_ARCH_LIST 改为 "
      "PYTORCH_ROCM_ARCH=\"gfx90a;gfx942\"。"},
     "PyTorch for ROCm (HIP semantics)",
     "import torch\nok = torch.cuda.get_device_capability()[0] >= 8\n",
     "import torch\nsm_count = torch.cuda.device_count()\n"},
    {HZ_PY_NVRTC,
     "SP1305",
     "Y5",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"CUDA source text or nvcc run from Python", "Python 中的 CUDA 源码文本或 nvcc 调用"},
     {"Kernel text in a string is compiled at run time: port it too (32-lane code included); nvrtc "
      "options --gpu-architecture=compute_NN become --offload-arch=gfx942.",
      "字符串中的核函数在运行时编译：同样需要移植（包括 32 通道代码）；nvrtc 选项 "
      "--gpu-architecture=compute_NN 改为 "
      "--offload-arch=gfx942。"},
     "HIPIFY #403",
     "src = r'''\nextern \"C\" __global__ void k(float *x) { x[threadIdx.x] = 1; }\n'''\n",
     "doc = 'kernels are marked global in the C++ part'\n"},
    {HZ_PY_TF32,
     "SP1306",
     "Y6",
     HAZARD_NOTE,
     HAZARD_GFX90A | HAZARD_GFX950,
     HAZARD_IN_PY,
     false,
     {"TF32 switch", "TF32 开关"},
     {"Has no effect on CDNA2: matrix products run in fp32. On CDNA3 it needs hipBLASLt and "
      "TORCH_ALLOW_TF32 style switches of the build; compare loss curves.",
      "在 CDNA2 上无效：矩阵乘以 fp32 运行。CDNA3 需 hipBLASLt 与相应构建开关；请比较损失曲线。"},
     "PyTorch for ROCm (HIP semantics): TF32 is not supported on ROCm",
     "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n",
     "import torch\ntorch.backends.cudnn.benchmark = True\n"},
    {HZ_PY_VERSION,
     "SP1307",
     "Y7",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"test of torch.version.cuda", "检查 torch.version.cuda"},
     {"It is None on ROCm: comparing or splitting it fails. Test torch.version.hip first.",
      "在 ROCm 上它是 None：比较或拆分会失败。请先检查 torch.version.hip。"},
     "PyTorch for ROCm (HIP semantics)",
     "import torch\nmajor = int(torch.version.cuda.split('.')[0])\n",
     "import torch\nis_rocm = torch.version.hip is not None\n"},
    {HZ_PY_ENV,
     "SP1308",
     "Y8",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"environment variable or back end of CUDA or NCCL", "CUDA 或 NCCL 的环境变量或后端设置"},
     {"The \"nccl\" back end is RCCL and its NCCL_* variables are read. CUDA_VISIBLE_DEVICES works "
      "for torch (HIP_VISIBLE_DEVICES is the native one); CUDA_LAUNCH_BLOCKING becomes "
      "AMD_SERIALIZE_KERNEL=3; PYTORCH_CUDA_ALLOC_CONF becomes PYTORCH_HIP_ALLOC_CONF.",
      "“nccl” 后端即 RCCL，会读取 NCCL_* 变量。CUDA_VISIBLE_DEVICES 对 torch 有效（原生为 "
      "HIP_VISIBLE_DEVICES）；"
      "CUDA_LAUNCH_BLOCKING 改为 AMD_SERIALIZE_KERNEL=3；PYTORCH_CUDA_ALLOC_CONF 改为 "
      "PYTORCH_HIP_ALLOC_CONF。"},
     "PyTorch for ROCm (HIP semantics); RCCL documentation",
     "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n",
     "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n"},
    {HZ_PY_BACKEND,
     "SP1309",
     "Y9",
     HAZARD_WARNING,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"package that exists for NVIDIA only or needs its ROCm build",
      "仅支持 NVIDIA 或需 ROCm 版本的软件包"},
     {"flash_attn, xformers, bitsandbytes, deepspeed and vllm have ROCm builds; tensorrt, "
      "nvidia.dali, cudf, cuml, torch2trt and pycudadecomp do not: use MIGraphX, rocAL or CPU "
      "paths.",
      "flash_attn、xformers、bitsandbytes、deepspeed、vllm 有 ROCm "
      "版本；tensorrt、nvidia.dali、cudf、cuml、"
      "torch2trt 没有：请用 MIGraphX、rocAL 或 CPU 路径。"},
     "ROCm compatibility matrix, third-party support",
     "import tensorrt as trt\nlogger = trt.Logger()\n",
     "import torch\nlogger = torch.hub\n"},
    {HZ_PY_OK,
     "SP1310",
     "Y10",
     HAZARD_NOTE,
     HAZARD_ALL,
     HAZARD_IN_PY,
     false,
     {"runs unchanged on PyTorch for ROCm", "在 ROCm 版 PyTorch 上无需修改即可运行"},
     {"torch.cuda.*, device strings \"cuda\" and \"cuda:0\", streams, events, AMP and the nccl "
      "back "
      "end keep their names on ROCm. Nothing to do.",
      "torch.cuda.*、设备字符串 \"cuda\" 与 \"cuda:0\"、流、事件、AMP 以及 nccl 后端在 ROCm "
      "上名称不变。无需修改。"},
     "PyTorch for ROCm (HIP semantics)",
     "import torch\nx = torch.zeros(3, device='cuda:0')\n",
     "import torch\nx = torch.zeros(3, device='cpu')\n"},
};
const size_t hazard_table_build_n = SL_COUNT(hazard_table_build);
