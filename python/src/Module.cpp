// The module hocket._hocket: what the package's Python calls. Its interface is private; the package
// checks and names arguments, converts and documents.
#include "Attention.h"
#include "Inspect.h"
#include "Kernel.h"
#include "Merge.h"
#include "Tensor.h"
#include "Tune.h"
#include "WithoutLock.h"

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Support/Version.h"
#include "Target/Arch/ArchInfo.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;

static py::tuple tupleOf(const std::vector<int64_t> &numbers) {
  py::tuple result(numbers.size());
  for (size_t i = 0; i != numbers.size(); ++i)
    result[i] = py::int_(numbers[i]);
  return result;
}

/// {"bf16": ("uint16", "bfloat16"), ...}: the types of tensors, and what numpy and torch call them.
static py::dict elementTypes() {
  py::dict types;
  for (const ElementTypeInfo &info : elementTypeTable())
    if (info.hasWholeBytes())
      types[py::str(std::string(info.name))] = py::make_tuple(std::string(info.numpy), std::string(info.torch));
  return types;
}

/// Types are local to the module: a copy of the package under another name has its own.
static void addTensor(py::module_ &module) {
  module.def("element_types", &elementTypes);
  py::class_<Tensor, std::shared_ptr<Tensor>>(module, "Tensor", py::module_local())
      .def_static("of", &Tensor::of, py::arg("object"), py::arg("argument"),
                  py::arg("dtype") = py::none(), py::arg("stream") = 0)
      .def_readonly("argument", &Tensor::argument)
      .def_property_readonly("shape", [](const Tensor &t) { return tupleOf(t.shape); })
      .def_property_readonly("strides", [](const Tensor &t) { return tupleOf(t.strides); })
      .def_property_readonly(
          "dtype", [](const Tensor &t) { return std::string(toString(t.dtype)); })
      .def("at", &Tensor::at, py::arg("address"))
      .def("join_vectors", &Tensor::joinVectors, py::arg("of_keys"))
      .def_property_readonly("device", &Tensor::deviceName)
      .def_property_readonly("address", &Tensor::address)
      .def_property_readonly("span_bytes", &Tensor::spanBytes)
      .def_property_readonly("is_contiguous", &Tensor::isContiguous)
      .def_readonly("read_only", &Tensor::readOnly);
}

static void addKernel(py::module_ &module) {
  py::class_<KernelArguments>(module, "KernelArguments", py::module_local());
  py::class_<Kernel, std::shared_ptr<Kernel>>(module, "Kernel", py::module_local())
      .def_static("compile", &Kernel::compile)
      .def_property_readonly("name", [](const Kernel &k) { return k.manifest().kernel; })
      .def_property_readonly("arch", [](const Kernel &k) { return k.manifest().target; })
      .def_property_readonly("signature", &Kernel::signature)
      .def_property_readonly("report", [](const Kernel &k) { return k.code().reportJson; })
      .def_property_readonly("manifest",
                             [](const Kernel &k) { return manifest::writeManifest(k.manifest()); })
      .def_property_readonly("code_object",
                             [](const Kernel &k) { return py::bytes(k.code().codeObject); })
      .def("stages", &Kernel::stages)
      .def("draw", &Kernel::draw)
      .def("arguments", &Kernel::arguments)
      .def("run", &Kernel::run)
      .def("check", &checkKernel)
      .def("predict", &predictKernel)
      .def("steady_state", &countKernel);
}

PYBIND11_MODULE(_hocket, module) {
  module.attr("version") = std::string(version());
  module.attr("most_splits") = attention::mostSplits;
  py::list architectures;
  for (std::string_view name : knownArchs())
    architectures.append(std::string(name));
  module.attr("architectures") = py::tuple(architectures);
  addTensor(module);
  addKernel(module);
  py::class_<PreparedCall>(module, "PreparedCall", py::module_local())
      .def(py::init<const py::dict &, const py::dict &, const std::string &, const std::vector<std::string> &, bool>())
      .def("run", &PreparedCall::run, py::arg("addresses"), py::arg("stream") = py::none(),
           py::arg("dropping") = py::none());
  module.def("merge", &merge);
  module.def("tune", &tune);
  auto define = [&](const char *name, auto function) {
    module.def(name, function, py::arg("problem"), py::arg("tensors"), py::arg("architecture"),
               py::arg("stream") = py::none());
  };
  define("forward", &forward), define("backward", &backward), define("plan_backward", &planBackward);
  define("quantize", &quantize);
  define("forward_plan", &forwardPlan), define("backward_plan", &backwardPlan);
}
