// libhocket's devices: the runtime does not know the simulator, the library that holds both does.
// Whoever loads it, from C too, opens "sim" without further ado.
#include "hocket/Simulator/RuntimeDevice.h"

[[maybe_unused]] static const bool simulatorIsKnown = (hocket::sim::registerSimulator(), true);
