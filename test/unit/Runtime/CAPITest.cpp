// The C interface: a C program's launch, and every kind of misuse as an error.
#include "hocket/Runtime/CAPI.h"
#include "TestSupport.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <thread>

using namespace hocket;

extern "C" int hocket_test_fill(const char *, const char *, uint32_t *, uint32_t, uint32_t);

static void expectStatus(hocket_status found, hocket_status wanted, const std::string &text) {
  EXPECT_EQ(found, wanted);
  EXPECT_THAT(hocket_last_error(), testing::HasSubstr(text));
}

TEST(CAPI, LaunchesFromC) {
  std::array<uint32_t, 100> result{};
  int status = hocket_test_fill("sim", HOCKET_TEST_CODE_OBJECT, result.data(), 100, 42);
  ASSERT_EQ(status, HOCKET_SUCCESS) << hocket_last_error();
  EXPECT_THAT(result, testing::Each(42u));
}

TEST(CAPI, ReportsUnknownDevicesAndFiles) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  expectStatus(hocket_device_open("cuda", &device, nullptr), HOCKET_INVALID_INPUT,
               "unknown device 'cuda'");
  EXPECT_EQ(device, nullptr);
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  hocket_module module = nullptr;
  expectStatus(hocket_module_load_file(device, "/no/such.co", &module), HOCKET_NOT_FOUND,
               "'/no/such.co'");
  expectStatus(hocket_module_load(device, "text", 4, &module), HOCKET_INVALID_INPUT, "");
  EXPECT_EQ(module, nullptr);
  hocket_device_release(device);
}

TEST(CAPI, RefusesNullAndStaleHandles) {
  hocket_register_simulator();
  uint64_t address = 0;
  expectStatus(hocket_allocate(nullptr, 16, &address), HOCKET_INVALID_INPUT,
               "device handle is null");
  hocket_device device = nullptr;
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_device_release(device), HOCKET_SUCCESS);
  expectStatus(hocket_device_release(device), HOCKET_INVALID_INPUT, "device handle is not valid");
  expectStatus(hocket_synchronize(device), HOCKET_INVALID_INPUT, "it was released or never made");
  expectStatus(hocket_module_release(reinterpret_cast<hocket_module>(&address)),
               HOCKET_INVALID_INPUT, "module handle is not valid");
  expectStatus(hocket_launch(nullptr, {1, 1, 1}, {1, 1, 1}, 0, nullptr, 0, nullptr),
               HOCKET_INVALID_INPUT, "kernel handle is null");
}

TEST(CAPI, RefusesHandlesOfAnotherKind) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  hocket_stream stream = nullptr;
  hocket_event event = nullptr;
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_stream_create(device, &stream), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_event_create(device, &event), HOCKET_SUCCESS);
  expectStatus(hocket_stream_synchronize(reinterpret_cast<hocket_stream>(device)),
               HOCKET_INVALID_INPUT, "stream handle is not valid; it is a handle of kind 'device'");
  expectStatus(hocket_device_release(reinterpret_cast<hocket_device>(stream)),
               HOCKET_INVALID_INPUT, "device handle is not valid; it is a handle of kind 'stream'");
  expectStatus(hocket_event_record(event, reinterpret_cast<hocket_stream>(event)),
               HOCKET_INVALID_INPUT, "it is a handle of kind 'event'");
  EXPECT_EQ(hocket_stream_release(stream), HOCKET_SUCCESS);
  expectStatus(hocket_device_release(reinterpret_cast<hocket_device>(stream)),
               HOCKET_INVALID_INPUT, "it was released or never made");
  EXPECT_EQ(hocket_event_release(event), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_device_release(device), HOCKET_SUCCESS);
}

TEST(CAPI, RefusesNullParameters) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  expectStatus(hocket_device_open(nullptr, &device, nullptr), HOCKET_INVALID_INPUT,
               "'name' is null");
  expectStatus(hocket_device_open("sim", nullptr, nullptr), HOCKET_INVALID_INPUT,
               "'device' is null");
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  expectStatus(hocket_allocate(device, 16, nullptr), HOCKET_INVALID_INPUT, "'address' is null");
  expectStatus(hocket_copy_to_device(device, 1, nullptr, 4), HOCKET_INVALID_INPUT,
               "'from' is null");
  expectStatus(hocket_copy_from_device(device, nullptr, 1, 4), HOCKET_INVALID_INPUT,
               "'to' is null");
  expectStatus(hocket_device_kind(device, nullptr), HOCKET_INVALID_INPUT, "'kind' is null");
  hocket_module module = nullptr;
  expectStatus(hocket_module_load(device, nullptr, 4, &module), HOCKET_INVALID_INPUT,
               "'code_object' is null");
  hocket_device_release(device);
}

TEST(CAPI, KeepsWhatIsInUseAlive) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  hocket_module module = nullptr;
  hocket_kernel kernel = nullptr;
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_module_load_file(device, HOCKET_TEST_CODE_OBJECT, &module), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_module_kernel(module, "fill", &kernel), HOCKET_SUCCESS);
  hocket_device_release(device);
  hocket_module_release(module);
  uint32_t bytes = 0, count = 0;
  ASSERT_EQ(hocket_kernel_arguments(kernel, &bytes, &count), HOCKET_SUCCESS);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(count, 3u);
  uint32_t value = 1;
  hocket_argument wrong[1] = {{&value, 4, HOCKET_NEXT_ARGUMENT}};
  expectStatus(hocket_launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, wrong, 1, nullptr),
               HOCKET_INVALID_INPUT, "takes 3 arguments, 1 given");
  hocket_argument null[1] = {{nullptr, 4, 0}};
  expectStatus(hocket_launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, null, 1, nullptr),
               HOCKET_INVALID_INPUT, "data of argument 0 is null");
  hocket_kernel_release(kernel);
}

TEST(CAPI, RefusesMisuseOfStreamsAndEvents) {
  hocket_register_simulator();
  hocket_device device = nullptr;
  hocket_stream stream = nullptr;
  hocket_event event = nullptr;
  expectStatus(hocket_stream_create(nullptr, &stream), HOCKET_INVALID_INPUT,
               "device handle is null");
  expectStatus(hocket_event_create(nullptr, &event), HOCKET_INVALID_INPUT, "device handle is null");
  ASSERT_EQ(hocket_device_open("sim", &device, nullptr), HOCKET_SUCCESS);
  expectStatus(hocket_stream_create(device, nullptr), HOCKET_INVALID_INPUT, "'stream' is null");
  expectStatus(hocket_event_create(device, nullptr), HOCKET_INVALID_INPUT, "'event' is null");
  ASSERT_EQ(hocket_stream_create(device, &stream), HOCKET_SUCCESS);
  ASSERT_EQ(hocket_event_create(device, &event), HOCKET_SUCCESS);

  expectStatus(hocket_stream_copy_to_device(stream, 1, nullptr, 4), HOCKET_INVALID_INPUT,
               "'from' is null");
  expectStatus(hocket_stream_copy_from_device(stream, nullptr, 1, 4), HOCKET_INVALID_INPUT,
               "'to' is null");
  expectStatus(hocket_stream_copy(stream, 1, 2, 4), HOCKET_INVALID_INPUT, "cannot read 4 bytes");
  expectStatus(hocket_stream_fill(stream, 1, 0, 4), HOCKET_INVALID_INPUT, "cannot fill 4 bytes");
  expectStatus(hocket_stream_query(stream, nullptr), HOCKET_INVALID_INPUT, "'done' is null");
  expectStatus(hocket_event_query(event, nullptr), HOCKET_INVALID_INPUT, "'done' is null");
  expectStatus(hocket_event_seconds(event, event, nullptr), HOCKET_INVALID_INPUT,
               "'seconds' is null");
  double seconds = 0;
  expectStatus(hocket_event_seconds(event, event, &seconds), HOCKET_INVALID_INPUT,
               "never recorded");
  expectStatus(hocket_event_record(event, nullptr), HOCKET_INVALID_INPUT, "stream handle is null");
  expectStatus(hocket_event_record(nullptr, stream), HOCKET_INVALID_INPUT, "event handle is null");
  expectStatus(hocket_stream_wait(stream, nullptr), HOCKET_INVALID_INPUT, "event handle is null");
  expectStatus(hocket_stream_launch(stream, nullptr, {1, 1, 1}, {1, 1, 1}, 0, nullptr, 0),
               HOCKET_INVALID_INPUT, "kernel handle is null");

  ASSERT_EQ(hocket_device_release(device), HOCKET_SUCCESS); // both keep it
  EXPECT_EQ(hocket_event_record(event, stream), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_stream_synchronize(stream), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_stream_release(stream), HOCKET_SUCCESS);
  EXPECT_EQ(hocket_event_release(event), HOCKET_SUCCESS);
  expectStatus(hocket_stream_release(stream), HOCKET_INVALID_INPUT, "stream handle is not valid");
  expectStatus(hocket_event_synchronize(event), HOCKET_INVALID_INPUT, "event handle is not valid");
}

TEST(CAPI, KeepsErrorsPerThread) {
  hocket_device_release(nullptr);
  std::string other = "unset";
  std::thread([&] { other = hocket_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_THAT(hocket_last_error(), testing::HasSubstr("null"));
}
