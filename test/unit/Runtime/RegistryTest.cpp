// Opening by name: what is known, what `auto` falls back to, and that it says so.
#include "hocket/Runtime/Registry.h"
#include "TestSupport.h"
#include "hocket/Simulator/RuntimeDevice.h"

using namespace hocket;
using namespace hocket::runtime;

/// Puts HIP's real factory out of the way: these tests must not depend on the machine.
static void registerNoHip() {
  registerDevice("hip",
                 []() -> Result<std::shared_ptr<Device>> { return notFound("no HIP here"); });
}

TEST(Registry, KnowsHipAndWhatIsRegistered) {
  sim::registerSimulator();
  EXPECT_THAT(deviceNames(), testing::IsSupersetOf({"hip", "sim"}));
}

TEST(Registry, ListsTheNamesForAnUnknownOne) {
  sim::registerSimulator();
  expectError(openDevice("cuda"),
              "unknown device 'cuda'; known are 'auto', 'hip', 'sim', 'sim:gfx942'");
}

TEST(Registry, FallsBackToTheSimulatorAndSaysSo) {
  registerNoHip();
  sim::registerSimulator();
  auto opened = openDevice("auto");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->device->kind(), "sim");
  EXPECT_EQ(opened->note, "using the simulator: no HIP here");
  expectError(openDevice("hip"), "no HIP here");
}

TEST(Registry, PrefersHip) {
  sim::registerSimulator();
  // Any device will do as a stand-in.
  registerDevice("hip", []() -> Result<std::shared_ptr<Device>> {
    auto opened = openDevice("sim");
    return opened.ok() ? Result<std::shared_ptr<Device>>(opened->device) : opened.error();
  });
  auto opened = openDevice("auto");
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->note, "");
  registerNoHip();
}
