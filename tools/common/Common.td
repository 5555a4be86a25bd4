// What every subcommand's options are made of: "--name VALUE", "--name=VALUE" and plain flags.
include "llvm/Option/OptParser.td"

// Options of a shared table that only `mutate` has.
def MutateVis : OptionVisibility;
// And those that only 'fmha-bwd' has.
def BackwardVis : OptionVisibility;
// And those of what looks at one of several launches.
def LaunchVis : OptionVisibility;

multiclass Value<string name, string meta, string help> {
  def NAME : Separate<["--"], name>, MetaVarName<meta>, HelpText<help>;
  def NAME # _eq : Joined<["--"], name # "=">, Alias<!cast<Separate>(NAME)>;
}

class Switch<string name, string help> : Flag<["--"], name>, HelpText<help>;

def help : Switch<"help", "Show this text">;
def help_short : Flag<["-"], "h">, Alias<help>;
