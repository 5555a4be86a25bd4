// What clang's programs call by themselves: registration, launch configurations, bundles of code
// objects. test/Hip/chevrons.test compiles a whole program; the shapes of bundles are tested here.
#include "Hip.h"

#include <array>
#include <cstdio>
#include <span>
#include <unistd.h>

using namespace hocket;

namespace {
struct Entry {
  std::string target;
  std::vector<std::byte> content;
};

/// A bundle as clang-offload-bundler writes one.
std::vector<std::byte> makeBundle(const std::vector<Entry> &entries) {
  std::string header = "__CLANG_OFFLOAD_BUNDLE__";
  auto put = [&](uint64_t value) {
    header.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  put(entries.size());
  uint64_t offset = 4096;
  for (const Entry &entry : entries) {
    put(offset);
    put(entry.content.size());
    put(entry.target.size());
    header += entry.target;
    offset += (entry.content.size() + 4095) / 4096 * 4096;
  }
  std::vector<std::byte> bundle(offset);
  std::memcpy(bundle.data(), header.data(), header.size());
  offset = 4096;
  for (const Entry &entry : entries) {
    if (!entry.content.empty())
      std::memcpy(&bundle[offset], entry.content.data(), entry.content.size());
    offset += (entry.content.size() + 4095) / 4096 * 4096;
  }
  return bundle;
}

template <typename T> void append(std::vector<std::byte> &bytes, T value) {
  auto *begin = reinterpret_cast<const std::byte *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(value));
}

/// `content` as a zlib stream, or a zstd frame, of blocks that are stored as they are.
std::vector<std::byte> stored(std::span<const std::byte> content, bool zstd) {
  std::vector<std::byte> packed;
  append<uint32_t>(packed, zstd ? 0xFD2FB528 : 0);
  zstd ? append<uint8_t>(packed, 0xA0) : packed.resize(0);
  zstd ? append<uint32_t>(packed, content.size()) : append<uint16_t>(packed, 0x0178);
  uint32_t low = 1, high = 0; // Adler's checksum
  for (size_t at = 0; at < content.size();) {
    const size_t count = std::min<size_t>(content.size() - at, 60000);
    const bool last = at + count == content.size();
    append<uint8_t>(packed, zstd ? uint8_t(last | count << 3) : uint8_t(last));
    append<uint16_t>(packed, zstd ? uint16_t(count >> 5) : uint16_t(count));
    if (!zstd)
      append<uint16_t>(packed, uint16_t(~count));
    for (std::byte byte : content.subspan(at, count)) {
      packed.push_back(byte);
      low = (low + uint8_t(byte)) % 65521;
      high = (high + low) % 65521;
    }
    at += count;
  }
  for (int shift = 24; !zstd && shift >= 0; shift -= 8)
    append<uint8_t>(packed, uint8_t((high << 16 | low) >> shift));
  return packed;
}

/// A compressed bundle as clang of that `version` writes it.
std::vector<std::byte> compress(std::span<const std::byte> content, bool zstd, uint16_t version) {
  const std::vector<std::byte> packed = stored(content, zstd);
  std::vector<std::byte> bytes;
  append<uint32_t>(bytes, 0x424F4343); // "CCOB"
  append<uint16_t>(bytes, version);
  append<uint16_t>(bytes, zstd);
  if (version == 3) {
    append<uint64_t>(bytes, packed.size() + 32);
    append<uint64_t>(bytes, content.size());
  } else {
    if (version == 2)
      append<uint32_t>(bytes, packed.size() + 24);
    append<uint32_t>(bytes, content.size());
  }
  append<uint64_t>(bytes, 0); // a hash, which is not looked at
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  return bytes;
}

struct Wrapper {
  uint32_t magic = 0x48495046, version = 1;
  const void *binary = nullptr;
  void *unused = nullptr;
};

/// The host's side of a kernel and of a variable.
void hostFill() {}
void hostOther() {}
int hostLaunches;

class HipProgram : public HipTest {
protected:
  void registerBundle(const std::vector<Entry> &entries) {
    bundle = makeBundle(entries);
    wrapper.binary = bundle.data();
    handle = __hipRegisterFatBinary(&wrapper);
    ASSERT_NE(handle, nullptr);
    __hipRegisterFunction(handle, stub(hostFill), nullptr, "fill", ~0u, nullptr, nullptr, nullptr,
                          nullptr, nullptr);
    __hipRegisterFunction(handle, stub(hostOther), nullptr, "missing", ~0u, nullptr, nullptr,
                          nullptr, nullptr, nullptr);
    char name[] = "launches";
    __hipRegisterVar(handle, &hostLaunches, name, name, 0, 4, 0, 0);
  }
  void TearDown() override {
    HipTest::TearDown();
    if (handle)
      __hipUnregisterFatBinary(handle);
  }
  static const void *stub(void (*function)()) { return reinterpret_cast<const void *>(function); }
  /// Runs the kernel behind `function` and gives the error.
  int launch(const void *function) {
    void *memory = nullptr;
    uint32_t value = 3, count = 64;
    EXPECT_EQ(hipMalloc(&memory, 256), 0);
    void *parameters[] = {&memory, &value, &count};
    int code = hipLaunchKernel(function, {1, 1, 1}, {64, 1, 1}, parameters, 0, nullptr);
    std::array<uint32_t, 64> back{};
    EXPECT_EQ(hipMemcpy(back.data(), memory, 256, deviceToHost), 0);
    if (code == 0) {
      EXPECT_THAT(back, testing::Each(3u));
    }
    return code;
  }
  std::vector<std::byte> bundle;
  Wrapper wrapper;
  void **handle = nullptr;
};

const Entry host = {"host-x86_64-unknown-linux-gnu", {}};
Entry device(const std::string &target) { return {target, readBytes(HOCKET_TEST_CODE_OBJECT)}; }
} // namespace

TEST_F(HipProgram, LaunchesItsKernels) {
  registerBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx950")});
  EXPECT_EQ(launch(stub(hostFill)), 0);
  EXPECT_EQ(launch(stub(hostOther)), invalidFunction);
  EXPECT_EQ(launch(&hostLaunches), invalidFunction);
  ASSERT_EQ(hipDeviceReset(), 0); // its code is loaded again when it is needed
  EXPECT_EQ(launch(stub(hostFill)), 0);
}

TEST_F(HipProgram, FindsItsVariables) {
  registerBundle({host, {"hip-amdgcn-amd-amdhsa--gfx950", readBytes(HOCKET_TEST_MIX)}});
  int value = 5;
  size_t bytes = 0;
  EXPECT_EQ(hipGetSymbolSize(&bytes, &hostLaunches), 0);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(hipMemcpyToSymbol(&hostLaunches, &value, 4, 0, hostToDevice), 0);
  value = 0;
  EXPECT_EQ(hipMemcpyFromSymbol(&value, &hostLaunches, 4, 0, deviceToHost), 0);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(hipMemcpyFromSymbol(&value, &hostLaunches, 4, 1, deviceToHost), invalidValue);
  EXPECT_EQ(hipMemcpyFromSymbol(nullptr, &hostLaunches, 4, 0, deviceToHost), invalidValue);
  EXPECT_EQ(hipMemcpyFromSymbol(&value, &value, 4, 0, deviceToHost), invalidSymbol);
}

// The plain target is preferred; features must be those of the device.
TEST_F(HipProgram, TakesTheRightEntry) {
  const Entry broken = {"hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+", std::vector<std::byte>(64)};
  registerBundle({host, broken, device("hipv4-amdgcn-amd-amdhsa--gfx950"), broken});
  EXPECT_EQ(launch(stub(hostFill)), 0);
}

TEST_F(HipProgram, TakesAnEntryWithFeatures) {
  registerBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-")});
  EXPECT_EQ(launch(stub(hostFill)), 0);
}

TEST_F(HipProgram, SaysThatItHasNoCodeForTheDevice) {
  registerBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx942"),
                  device("hipv4-amdgcn-amd-amdhsa--gfx950:xnack+")});
  EXPECT_EQ(launch(stub(hostFill)), noBinaryForGpu);
}

TEST_F(HipProgram, ReadsCompressedBundles) {
  const std::vector<std::byte> plain = makeBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx950")});
  const std::vector<std::byte> foreign = makeBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx942")});
  const std::string path = testing::TempDir() + "/hocket-hip-compressed-" + std::to_string(getpid());
  for (bool zstd : {false, true})
    for (uint16_t version : {1, 2, 3}) {
      const std::vector<std::byte> bytes = compress(plain, zstd, version);
      void *module = nullptr, *function = nullptr;
      FILE *file = std::fopen(path.c_str(), "wb");
      ASSERT_TRUE(file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
      std::fclose(file);
      EXPECT_EQ(hipModuleLoad(&module, path.c_str()), 0) << zstd << version;
      EXPECT_EQ(hipModuleGetFunction(&function, module, "fill"), 0);
      // In memory version 1 does not say how long it is.
      EXPECT_EQ(hipModuleLoadData(&module, bytes.data()), version == 1 ? invalidImage : 0) << zstd << version;
      if (version != 1)
        EXPECT_EQ(hipModuleLoadData(&module, compress(foreign, zstd, version).data()), noBinaryForGpu);
    }
  std::remove(path.c_str());
}

TEST_F(HipProgram, RefusesDamagedCompressedBundles) {
  const std::vector<std::byte> plain = makeBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx950")});
  for (bool zstd : {false, true})
    for (size_t at : {4u, 6u, 8u, 11u, 12u, 15u, 24u, 25u, 28u, 40u, 200u}) {
      std::vector<std::byte> bytes = compress(plain, zstd, 2);
      if (at >= 8 && at < 12)
        continue; // its own length, which memory has to have
      bytes[at] ^= std::byte(0x55);
      void *module = nullptr;
      const int code = hipModuleLoadData(&module, bytes.data());
      EXPECT_TRUE(code == 0 || code == invalidImage || code == noBinaryForGpu) << zstd << " " << at << ": " << code;
      if (at < 24)
        EXPECT_NE(code, 0) << zstd << " " << at;
    }
  const std::vector<std::byte> object = readBytes(HOCKET_TEST_CODE_OBJECT);
  void *module = nullptr;
  EXPECT_EQ(hipModuleLoadData(&module, compress(object, true, 2).data()), invalidImage); // no bundle within
}

TEST_F(HipProgram, RefusesOtherFormats) {
  const std::vector<std::byte> empty = makeBundle({});
  void *module = nullptr;
  EXPECT_EQ(hipModuleLoadData(&module, empty.data()), noBinaryForGpu);
  std::array<char, 64> compressed = {"CCOB"};
  EXPECT_EQ(hipModuleLoadData(&module, compressed.data()), invalidImage);
  Wrapper wrong;
  wrong.magic = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(__hipRegisterFatBinary(&wrong), nullptr);
  EXPECT_EQ(__hipRegisterFatBinary(nullptr), nullptr);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("unknown format"));
  __hipUnregisterFatBinary(nullptr);
}

// A file's size is known: whatever its headers say, nothing is read past it.
TEST_F(HipProgram, SurvivesDamagedFiles) {
  const std::vector<std::byte> object = readBytes(HOCKET_TEST_CODE_OBJECT);
  const std::vector<std::byte> bundled =
      makeBundle({host, device("hipv4-amdgcn-amd-amdhsa--gfx950")});
  const std::string path = testing::TempDir() + "/hocket-hip-damaged-" + std::to_string(getpid());
  auto load = [&](std::span<const std::byte> bytes) {
    FILE *file = std::fopen(path.c_str(), "wb");
    EXPECT_TRUE(file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
    std::fclose(file);
    void *module = nullptr;
    return hipModuleLoad(&module, path.c_str());
  };
  EXPECT_EQ(load(object), 0);
  EXPECT_EQ(load(bundled), 0);
  for (const std::vector<std::byte> &whole : {object, bundled})
    for (size_t size : {size_t(0), size_t(1), size_t(10), size_t(30), size_t(63), size_t(64),
                        size_t(100), size_t(200), size_t(1000), whole.size() / 2})
      EXPECT_EQ(load(std::span(whole).first(size)), invalidImage) << size;
  for (size_t at = 0; at < 120; at += 3) {
    std::vector<std::byte> wrong = bundled;
    wrong[at] = std::byte(0xff);
    EXPECT_THAT(load(wrong), testing::AnyOf(0, invalidImage, noBinaryForGpu)) << at;
    wrong = object;
    wrong[at] ^= std::byte(0xff);
    EXPECT_THAT(load(wrong), testing::AnyOf(0, invalidImage, noBinaryForGpu)) << at;
  }
  std::remove(path.c_str());
}

TEST_F(HipProgram, KeepsLaunchConfigurations) {
  dim3 grid{}, block{};
  size_t shared = 0;
  void *stream = nullptr;
  EXPECT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), missingConfiguration);
  EXPECT_EQ(__hipPushCallConfiguration({1, 2, 3}, {4, 5, 6}, 7, &grid), 0);
  EXPECT_EQ(__hipPushCallConfiguration({9, 1, 1}, {9, 1, 1}, 0, nullptr), 0);
  ASSERT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), 0);
  EXPECT_EQ(grid.x, 9u);
  ASSERT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), 0);
  EXPECT_EQ(grid.z, 3u);
  EXPECT_EQ(block.y, 5u);
  EXPECT_EQ(shared, 7u);
  EXPECT_EQ(stream, &grid);
}
