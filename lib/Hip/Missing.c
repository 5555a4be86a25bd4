/* The functions of HIP that the simulator does not have. They are there so that programs which link
 * them start; each says its name once and returns hipErrorNotSupported. They are C, since a caller
 * passes what the real function takes and nobody looks at it.
 */
int hocket_hip_missing(const char *name);

/* HIPRTC_ERROR_INTERNAL_ERROR: hiprtcResult has nothing closer to "not supported". */
enum { hiprtcInternalError = 11 };

#define HOCKET_HIP_MISSING(NAME)                                                                   \
  int NAME(void) { return hocket_hip_missing(#NAME); }
#define HOCKET_HIP_MISSING_AS(NAME, SYMBOL)                                                        \
  int NAME(void) __asm__(SYMBOL);                                                                  \
  HOCKET_HIP_MISSING(NAME)
#define HOCKET_HIPRTC_MISSING(NAME)                                                                \
  int NAME(void) {                                                                                 \
    hocket_hip_missing(#NAME);                                                                     \
    return hiprtcInternalError;                                                                    \
  }
#include "Missing.def"

const char *hiprtcGetErrorString(int code) {
  return code == 0 ? "HIPRTC_SUCCESS" : "HIPRTC_ERROR_INTERNAL_ERROR";
}

/* What tracers ask for; nothing is traced here. */
const char *hipApiName(unsigned id) {
  (void)id;
  return "unknown";
}
const char *hipGetCmdName(unsigned id) {
  (void)id;
  return "unknown";
}
int hipGetStreamDeviceId(void *stream) {
  (void)stream;
  return 0;
}

/* A plain structure; textures themselves are not there. */
struct ChannelDesc {
  int x, y, z, w, kind;
};
struct ChannelDesc hipCreateChannelDesc(int x, int y, int z, int w, int kind) {
  struct ChannelDesc description = {x, y, z, w, kind};
  return description;
}
