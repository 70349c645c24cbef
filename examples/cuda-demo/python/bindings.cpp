/* SPDX-License-Identifier: Apache-2.0
 *
 * bindings.cpp: quantiles of a float tensor for Python.
 */
#include <torch/extension.h>
#include <vector>

void quantiles(const float *readings, int n, float out[3]);

static std::vector<float> tensor_quantiles(torch::Tensor t)
{
    TORCH_CHECK(t.is_cuda() && t.scalar_type() == torch::kFloat, "give a float tensor on the device");
    t = t.contiguous();
    std::vector<float> q(3);
    quantiles(t.data_ptr<float>(), (int)t.numel(), q.data());
    return q;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("quantiles", &tensor_quantiles, "50, 90 and 99 percent quantiles");
}
