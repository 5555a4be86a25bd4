// The C interface of manifests: a C program's launches by name, and every kind of misuse.
#include "hocket/Manifest/CAPI.h"
#include "hocket/Runtime/File.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern "C" int hocket_test_named_fill(const char *, uint32_t *, uint32_t, uint32_t);

static void expectInvalid(hocket_status found, const std::string &text) {
  EXPECT_EQ(found, HOCKET_INVALID_INPUT);
  EXPECT_THAT(hocket_last_error(), testing::HasSubstr(text));
}

static constexpr char json[] = R"({"hocket_manifest": 1, "kernel": "k", "target": "gfx950",
  "kernarg_size": 16, "block": [64, 1, 1], "grid": ["n", 1, 1], "workspace": "4 * n",
  "tensors": [{"name": "x", "dtype": "bf16", "sizes": ["n", 8], "strides": ["row", 1]}],
  "arguments": [{"name": "x", "offset": 0, "type": "pointer", "value": "x"},
                {"name": "w", "offset": 8, "type": "pointer", "value": "workspace"}],
  "requires": [{"condition": "row >= 8 + pad", "message": "rows overlap"}]})";

TEST(ManifestCAPI, LaunchesFromC) {
  std::array<uint32_t, 200> result{};
  int status = hocket_test_named_fill(HOCKET_TEST_CODE_OBJECT, result.data(), 200, 42);
  ASSERT_EQ(status, HOCKET_SUCCESS) << hocket_last_error();
  for (size_t i = 0; i != result.size(); ++i)
    EXPECT_EQ(result[i], i < 100 ? 42u : 43u) << i;
}

TEST(ManifestCAPI, SaysWhatItIs) {
  hocket_manifest manifest = nullptr;
  ASSERT_EQ(hocket_manifest_load(json, sizeof(json) - 1, &manifest), HOCKET_SUCCESS);
  const char *text = nullptr;
  ASSERT_EQ(hocket_manifest_kernel(manifest, &text), HOCKET_SUCCESS);
  EXPECT_STREQ(text, "k");
  ASSERT_EQ(hocket_manifest_signature(manifest, &text), HOCKET_SUCCESS);
  EXPECT_STREQ(text, "tensors x [n, 8] bf16; scalars pad");
  EXPECT_EQ(hocket_manifest_release(manifest), HOCKET_SUCCESS);
  expectInvalid(hocket_manifest_release(manifest), "manifest handle is not valid");
  expectInvalid(hocket_manifest_kernel(nullptr, &text), "manifest handle is null");
}

TEST(ManifestCAPI, AsksForAWorkspace) {
  hocket_manifest manifest = nullptr;
  ASSERT_EQ(hocket_manifest_load(json, sizeof(json) - 1, &manifest), HOCKET_SUCCESS);
  int64_t shape[] = {3, 8}, strides[] = {16, 1};
  hocket_tensor tensor{"x", 0, "bf16", 2, shape, strides};
  hocket_scalar pad{"pad", 0, 4, 0};
  hocket_named_arguments arguments{&tensor, 1, &pad, 1, 0};
  uint64_t bytes = 0;
  ASSERT_EQ(hocket_manifest_workspace(manifest, &arguments, &bytes), HOCKET_SUCCESS)
      << hocket_last_error();
  EXPECT_EQ(bytes, 12u);
  pad.name = "pas";
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes), "it has no scalar 'pas'");
  hocket_manifest_release(manifest);
}

TEST(ManifestCAPI, RefusesWhatIsNullOrMalformed) {
  hocket_manifest manifest = nullptr;
  expectInvalid(hocket_manifest_load(nullptr, 0, &manifest), "'json' is null");
  expectInvalid(hocket_manifest_load(json, 5, nullptr), "'manifest' is null");
  expectInvalid(hocket_manifest_load(json, 5, &manifest), "manifest '<memory>' is not JSON");
  EXPECT_EQ(manifest, nullptr);
  expectInvalid(hocket_manifest_load_file(nullptr, &manifest), "'path' is null");
  EXPECT_EQ(hocket_manifest_load_file("/no/such.json", &manifest), HOCKET_NOT_FOUND);
  ASSERT_EQ(hocket_manifest_load(json, sizeof(json) - 1, &manifest), HOCKET_SUCCESS);
  uint64_t bytes = 0;
  expectInvalid(hocket_manifest_workspace(manifest, nullptr, &bytes), "'arguments' is null");
  hocket_named_arguments arguments{nullptr, 1, nullptr, 0, 0};
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "tensors of the arguments");
  hocket_tensor tensor{nullptr, 0, "bf16", 2, nullptr, nullptr};
  arguments.tensors = &tensor;
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "name of tensor 0 is null");
  tensor.name = "x";
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "shape of tensor 0 is null");
  int64_t shape[] = {3, 8};
  tensor.shape = shape;
  tensor.dtype = "half";
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "dtype of tensor 0 ('x') is 'half'; known are bf16");
  tensor.dtype = "bf16";
  hocket_scalar twice[] = {{"pad", 0, 1, 0}, {"pad", 0, 2, 0}};
  arguments.scalars = twice;
  arguments.scalar_count = 2;
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "scalar 'pad' is given twice");
  twice[0].name = nullptr;
  expectInvalid(hocket_manifest_workspace(manifest, &arguments, &bytes),
                "name of scalar 0 is null");
  expectInvalid(hocket_manifest_launch(manifest, nullptr, &arguments, nullptr),
                "kernel handle is null");
  hocket_manifest_release(manifest);
}

TEST(ManifestCAPI, IsAboutOneKernel) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  hocket_module module = nullptr;
  hocket_kernel kernel = nullptr;
  hocket_manifest manifest = nullptr;
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_module_load_file(device, HOCKET_TEST_CODE_OBJECT, &module), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_module_kernel(module, "fill", &kernel), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_manifest_load(json, sizeof(json) - 1, &manifest), HOCKET_SUCCESS);
  hocket_named_arguments arguments{};
  expectInvalid(hocket_manifest_launch(manifest, kernel, &arguments, nullptr),
                "the manifest is about kernel 'k', the kernel is 'fill'");
  expectInvalid(hocket_manifest_launch_on(manifest, kernel, &arguments, nullptr),
                "stream handle is null");
  hocket_manifest_release(manifest);
  hocket_kernel_release(kernel);
  hocket_module_release(module);
  hocket_device_release(device);
}
