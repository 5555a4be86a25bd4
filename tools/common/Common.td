// What every subcommand's options are made of: "--name VALUE", "--name=VALUE" and plain flags.
include "llvm/Option/OptParser.td"

// Groups of options in a table that subcommands share (Options.h): a subcommand has those of the groups that it names.
def MutateVis : OptionVisibility;   // of mutants
def BackwardVis : OptionVisibility; // of a backward's problem
def LaunchVis : OptionVisibility;   // which of several launches is looked at
def ForwardVis : OptionVisibility;  // of a forward's problem and where its kernels come from
def KernelVis : OptionVisibility;   // which kernel runs
def CompileVis : OptionVisibility;  // how the kernel of a forward is made, or where it lies
def FilesVis : OptionVisibility;    // files and explanations
def TextsVis : OptionVisibility;    // texts of a forward's kernels
def RunVis : OptionVisibility;      // on which device, and how strictly, a run that is the subcommand's result is judged
def TimeVis : OptionVisibility;     // how the cycle model times
def TimedVis : OptionVisibility;    // that it times, and what is made of one kernel's time

multiclass Value<string name, string meta, string help> {
  def NAME : Separate<["--"], name>, MetaVarName<meta>, HelpText<help>;
  def NAME # _eq : Joined<["--"], name # "=">, Alias<!cast<Separate>(NAME)>;
}

class Switch<string name, string help> : Flag<["--"], name>, HelpText<help>;

def help : Switch<"help", "Show this text">;
def help_short : Flag<["-"], "h">, Alias<help>;
