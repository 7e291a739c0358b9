/* The C interface, compiled as C11. Usage: step_model_test; exits with the number of checks that fail. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "roofcast.h"

static int failures = 0;

#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            ++failures;                                             \
        }                                                           \
    } while (0)

static void check_errors(void) {
    const char* const unknown[] = {"precison=fp8", NULL};
    const char* const wrong[] = {"precision=fp17", NULL};
    const char* const half[] = {"tp", NULL};
    const char* const heads[] = {"gpus=4", "tp=2", NULL};
    CHECK(roofcast_step_model_new("lama-3.1-8b", "h100", NULL) == NULL);
    CHECK(strstr(roofcast_last_error(), "did you mean") != NULL);
    CHECK(roofcast_step_model_new("llama-3.1-8b", "h100", unknown) == NULL);
    CHECK(strstr(roofcast_last_error(), "precision") != NULL);
    CHECK(roofcast_step_model_new("llama-3.1-8b", "h100", wrong) == NULL);
    CHECK(strstr(roofcast_last_error(), "fp17") != NULL);
    CHECK(roofcast_step_model_new("llama-3.1-8b", "h100", half) == NULL);
    CHECK(roofcast_step_model_new("llama-3.1-8b", "h100", heads) == NULL);
    CHECK(strstr(roofcast_last_error(), "tp times pp times dp is not gpus") != NULL);
    CHECK(roofcast_step_model_new(NULL, "h100", NULL) == NULL);
    CHECK(roofcast_step_model_new("resnet50", "h100", NULL) == NULL);
    roofcast_step_model_free(NULL);
}

static void check_steps(roofcast_step_model* model) {
    const double decode = roofcast_step_us(model, 0, 64, 2048.0), prefill = roofcast_step_us(model, 512, 0, 1.0);
    const double both = roofcast_step_us(model, 512, 64, 2048.0);
    CHECK(decode > 0 && prefill > 0);
    CHECK(both > decode && both > prefill);
    CHECK(both < decode + prefill); /* weights are read once */
    CHECK(roofcast_step_us(model, 0, 64, 4096.0) > decode);
    CHECK(roofcast_mixed_step_us(model, 1, 512, 0.0, 64, 2048.0) == both);
    CHECK(roofcast_mixed_step_us(model, 1, 512, 8192.0, 64, 2048.0) > both); /* attention to what is in the cache */
    CHECK(roofcast_step_us(model, 0, 1 << 20, 1.0) < 0);
    CHECK(strstr(roofcast_last_error(), "decode_sequences") != NULL);
    CHECK(roofcast_step_us(model, 0, 0, 1.0) < 0);
    CHECK(roofcast_step_us(model, 0, 1, NAN) < 0);
}

int main(void) {
    const char* const settings[] = {"software=vllm", "precision=fp8", "tp=2", "max_sequences=512", NULL};
    check_errors();
    roofcast_step_model* model = roofcast_step_model_new("llama-3.1-70b", "h100-sxm5-80gb", settings);
    if (model == NULL) {
        fprintf(stderr, "%s\n", roofcast_last_error());
        return 1;
    }
    check_steps(model);
    CHECK(roofcast_step_model_prepare(model) == 0);
    CHECK(strlen(roofcast_version()) > 0);
    roofcast_step_model_free(model);
    return failures;
}
