/* The C interface, compiled as C11. Usage: step_model_test; exits with the number of checks that fail. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static double microseconds_a_call(const roofcast_step_model* model) {
    enum { calls = 200000 };
    struct timespec start, end;
    double sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < calls; ++i)
        sum += roofcast_step_us(model, i % 3 == 0 ? 1 + (i * 37) % 4096 : 0, 1 + (i * 7) % 512, 1.0 + (i * 131) % 8192);
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK(sum > 0);
    return ((double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) / 1e3) / calls;
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
    const double each = microseconds_a_call(model);
    printf("roofcast %s: %.3f us a call\n", roofcast_version(), each);
    CHECK(each > 0);
    roofcast_step_model_free(model);
    return failures;
}
