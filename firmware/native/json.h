/* A JSON object written piece by piece through a small buffer: the report of 50 000 samples would not fit in memory. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>

#define JSON_BUFFER 1024u

struct json {
    /* Takes `length` bytes; false ends the output (later writes are dropped). */
    bool (*write)(void *context, const char *data, uint32_t length);
    void *context;
    bool failed;
    bool first;
    uint32_t used;
    char buffer[JSON_BUFFER];
};

void json_begin(struct json *json, bool (*write)(void *, const char *, uint32_t), void *context);

/* Keys are literals that need no escaping; values are escaped. */
void json_number(struct json *json, const char *key, uint32_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_string(struct json *json, const char *key, const char *value);
void json_ipv4(struct json *json, const char *key, const uint8_t address[4]);
void json_numbers(struct json *json, const char *key, const uint32_t *values, uint32_t count);

/* Closes the object and ends the line. False: the output failed somewhere. */
bool json_end(struct json *json);

#endif
