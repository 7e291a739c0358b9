/* Time of one step of a serving engine: step MODEL GPU PREFILL_TOKENS DECODE_SEQUENCES CONTEXT [NAME=VALUE ...] */
#include <roofcast.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    const char *model_name = argc > 1 ? argv[1] : "llama-3.1-8b", *gpu = argc > 2 ? argv[2] : "h100-sxm5-80gb";
    const char* const* settings = argc > 6 ? (const char* const*)argv + 6 : NULL; /* argv ends with NULL */
    roofcast_step_model* model = roofcast_step_model_new(model_name, gpu, settings);
    if (model == NULL) {
        fprintf(stderr, "%s\n", roofcast_last_error());
        return 2;
    }
    const double us =
        roofcast_step_us(model, argc > 3 ? atol(argv[3]) : 512, argc > 4 ? atol(argv[4]) : 64, argc > 5 ? atof(argv[5]) : 1024);
    roofcast_step_model_free(model);
    if (us < 0) {
        fprintf(stderr, "%s\n", roofcast_last_error());
        return 2;
    }
    printf("%.1f us\n", us);
    return 0;
}
