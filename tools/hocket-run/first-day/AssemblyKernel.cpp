// See AssemblyKernel.h. The text is assembled and linked as compiled kernels are.
#include "AssemblyKernel.h"

#include "Target/HSACO/Emit.h"

#include <cstring>

using namespace hocket;
using namespace hocket::run::firstday;
using llvm::StringRef;

/// LDS of every such kernel, in bytes.
static constexpr unsigned kLdsBytes = 16384;

static std::string wholeText(const std::string &name, const std::string &chip, const std::string &code) {
  return ".amdgcn_target \"amdgcn-amd-amdhsa--" + chip + "\"\n.amdhsa_code_object_version 6\n.text\n.globl " + name +
         "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n" + code + "s_endpgm\n.Lend:\n.size " + name +
         ", .Lend-" + name + "\n.section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel " + name +
         "\n.amdhsa_group_segment_fixed_size " + std::to_string(kLdsBytes) + R"(
.amdhsa_kernarg_size 24
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_vgpr_workitem_id 0
.amdhsa_next_free_vgpr 128
.amdhsa_next_free_sgpr 64
.amdhsa_accum_offset 128
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--)" +
         chip + "\namdhsa.kernels:\n  - .name: " + name + "\n    .symbol: " + name + R"(.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: )" +
         std::to_string(kLdsBytes) + R"(
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .max_flat_workgroup_size: 1024
    .sgpr_count: 70
    .vgpr_count: 128
    .args:
      - {.name: in, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: turns, .size: 4, .offset: 16, .value_kind: by_value}
...
.end_amdgpu_metadata
)";
}

static Result<std::string> build(const std::string &name, const std::string &chip, const std::string &code) {
  hsaco::EmitOptions options;
  options.cpu = chip;
  auto object = hsaco::assemble(wholeText(name, chip, code), options, "<" + name + ">");
  if (!object.ok())
    return object.error();
  auto linked = hsaco::link(StringRef(object->data(), object->size()));
  if (!linked.ok())
    return linked.error();
  return std::string(linked->data(), linked->size());
}

Result<std::string> run::firstday::assembleProbe(StringRef body, const std::string &chip) {
  std::string code = R"(s_load_dwordx4 s[4:7], s[0:1], 0x0
v_and_b32_e32 v0, 63, v0
v_lshlrev_b32_e32 v1, 6, v0
s_waitcnt lgkmcnt(0)
global_load_dwordx4 v[16:19], v1, s[4:5]
global_load_dwordx4 v[20:23], v1, s[4:5] offset:16
global_load_dwordx4 v[24:27], v1, s[4:5] offset:32
global_load_dwordx4 v[28:31], v1, s[4:5] offset:48
)";
  for (unsigned i = 0; i != probeDwords; ++i)
    code += "v_mov_b32_e32 v" + std::to_string(32 + i) + ", 0\n";
  code += "s_waitcnt vmcnt(0)\ns_nop 7\n" + body.str() + R"(
s_waitcnt vmcnt(0) lgkmcnt(0)
s_nop 15
s_nop 15
global_store_dwordx4 v1, v[32:35], s[6:7]
global_store_dwordx4 v1, v[36:39], s[6:7] offset:16
global_store_dwordx4 v1, v[40:43], s[6:7] offset:32
global_store_dwordx4 v1, v[44:47], s[6:7] offset:48
)";
  return build("probe", chip, code);
}

Result<std::string> run::firstday::assembleLoop(StringRef setup, StringRef body, const std::string &chip) {
  return build("loop", chip, R"(s_mov_b32 s3, s2
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_load_dword s60, s[0:1], 0x10
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
)" + setup.str() + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n.Lloop:\n" +
                                body.str() + R"(
s_sub_u32 s60, s60, 1
s_cmp_lg_u32 s60, 0
s_cbranch_scc1 .Lloop
s_waitcnt vmcnt(0) lgkmcnt(0)
)");
}

namespace {
/// Device memory that is freed with it.
struct Allocation {
  runtime::Device &device;
  runtime::DeviceAddress address;
  ~Allocation() { (void)device.free(address).ok(); }
};
} // namespace

static std::vector<std::byte> packed(uint64_t in, uint64_t out, uint32_t turns) {
  std::vector<std::byte> block(20);
  std::memcpy(block.data(), &in, 8);
  std::memcpy(block.data() + 8, &out, 8);
  std::memcpy(block.data() + 16, &turns, 4);
  return block;
}

static Result<std::shared_ptr<runtime::Kernel>> loadKernel(runtime::Device &device, const std::string &codeObject,
                                                           const std::string &name) {
  auto module = device.loadModule(std::as_bytes(std::span(codeObject)), name);
  return module.ok() ? (*module)->kernel(name) : module.error();
}

Result<LaneValues> run::firstday::runProbe(runtime::Device &device, const std::string &codeObject,
                                           const LaneValues &input) {
  auto kernel = loadKernel(device, codeObject, "probe");
  if (!kernel.ok())
    return kernel.error();
  const auto bytes = std::as_bytes(std::span(input));
  auto in = device.allocate(bytes.size(), 4096, "in");
  if (!in.ok())
    return in.error();
  Allocation freeIn{device, *in};
  auto out = device.allocate(bytes.size(), 4096, "out");
  if (!out.ok())
    return out.error();
  Allocation freeOut{device, *out};
  if (Status status = device.copyToDevice(*in, bytes); !status.ok())
    return status.error();
  if (Status status = device.fill(*out, 0xa5, bytes.size()); !status.ok())
    return status.error();
  auto report = device.launch(**kernel, {{1, 1, 1}, {probeLanes, 1, 1}, 0}, packed(*in, *out, 0));
  if (!report.ok())
    return report.error();
  LaneValues result(input.size());
  if (Status status = device.copyFromDevice(std::as_writable_bytes(std::span(result)), *out); !status.ok())
    return status.error();
  return result;
}

Result<std::unique_ptr<LoadedLoop>> LoadedLoop::load(runtime::Device &device, const std::string &codeObject,
                                                     uint64_t bufferBytes) {
  std::unique_ptr<LoadedLoop> loop(new LoadedLoop(device));
  auto kernel = loadKernel(device, codeObject, "loop");
  if (!kernel.ok())
    return kernel.error();
  loop->loaded = *kernel;
  auto buffer = device.allocate(bufferBytes, 4096, "buffer");
  if (!buffer.ok())
    return buffer.error();
  loop->buffer = *buffer;
  if (Status status = device.fill(*buffer, 0, bufferBytes); !status.ok())
    return status.error();
  return std::move(loop);
}

LoadedLoop::~LoadedLoop() {
  if (buffer != 0)
    (void)device.free(buffer).ok();
}

std::vector<std::byte> LoadedLoop::arguments(uint32_t turns) const { return packed(buffer, buffer, turns); }
