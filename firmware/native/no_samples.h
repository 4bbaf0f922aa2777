/* For bodies whose report has figures alone. */
#ifndef NO_SAMPLES_H
#define NO_SAMPLES_H

struct figures;
struct json;

static inline void body_report_samples(struct json *json, const struct figures *figures) {
    (void)json;
    (void)figures;
}

#endif
