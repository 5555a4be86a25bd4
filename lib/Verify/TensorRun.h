// A run of kernels that work on a list of tensors: places them between guards, launches, compares
// the interleavings, collects what was computed. What the tensors hold and how the result is judged
// is the business of the kind of problem.
#pragma once

#include "Verify/DeviceTensor.h"
#include "Verify/KernelRun.h"
#include "hocket/Manifest/Tensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hocket::verify {

/// Dense content on the host, by the names of tensors.
using Contents = std::map<std::string, std::span<std::byte>, std::less<>>;

class TensorRun : protected KernelRun {
protected:
  /// `noun` is what messages call a tensor.
  TensorRun(runtime::Device &device, const RunOptions &options, RunReport &report,
            std::string noun, std::vector<manifest::TensorSpec> tensors)
      : KernelRun(device, options, report), specs(std::move(tensors)), noun(std::move(noun)) {}

  /// Which of the results room is asked for: the first launch's, another's, what `inspect` left.
  enum class Outcome { First, Another, Inspected };
  /// Room for the outputs of a launch, by name; those that are not wanted are empty or absent.
  virtual Contents roomFor(Outcome outcome) = 0;
  /// Where the rows of a tensor lie, in the order of its content on the host; others are holes.
  virtual std::vector<uint64_t> rowOffsets(const manifest::TensorSpec &spec) const {
    return spec.rowOffsets();
  }
  /// In how many pieces.
  virtual RowPieces rowPieces(const manifest::TensorSpec &) const { return {}; }

  /// Whether an output has the same bits in all interleavings; one that has not is for `judgeAnother`.
  virtual bool hasSameBits(const std::string &name) const { return true; }
  /// Looks at the outputs of another launch than the first; adds what is wrong to the report, with `where`.
  virtual void judgeAnother(const std::string &where) {}

  /// Allocates the tensors, with guards around each (DeviceTensor.h), and uploads `inputs`; where rows overlap, they
  /// then hold what is really there. Checked execution reports what is accessed outside of allocations, so these end
  /// with their tensors there: reads beyond are found too, even where a mask hides what they return.
  Status place(Contents inputs);
  /// Allocates the largest workspace that a kernel wants for a problem of these variables.
  Status placeWorkspace(const manifest::Variables &problem);
  uint64_t workspaceBytes() const { return workspaceSize; }
  /// Where everything is that was placed.
  manifest::Addresses addresses() const;

  /// Launches all interleavings and compares what they compute; calls the options' `inspect`, and
  /// collects what it left if `keepInspected`; looks whether inputs are as they were.
  Status launchAndCompare(bool keepInspected = false);
  /// Of the first launch's outputs, in order.
  uint64_t outputHash() const;

private:
  Status reset();
  Status collectOutputs(const Contents &to, const std::string &where);
  Status inspectAll(bool keep);
  Status checkInputs();
  std::string nameOf(const manifest::TensorSpec &tensor) const {
    return noun + " '" + tensor.name + "'";
  }
  DeviceTensor *placed(const std::string &name) const;
  uint64_t guard() const { return options.check ? 0 : guardBytes; }

  std::vector<manifest::TensorSpec> specs;
  std::string noun;
  std::map<std::string, std::unique_ptr<DeviceTensor>, std::less<>> tensors;
  Contents inputs, first;
  uint64_t workspaceSize = 0;
};

} // namespace hocket::verify
