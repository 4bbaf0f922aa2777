#include "json.h"

#include "decimal.h"

static void flush(struct json *json) {
    if (!json->failed && json->used != 0) {
        json->failed = !json->write(json->context, json->buffer, json->used);
    }
    json->used = 0;
}

static void put(struct json *json, char c) {
    if (json->used == JSON_BUFFER) {
        flush(json);
    }
    json->buffer[json->used++] = c;
}

static void put_text(struct json *json, const char *text) {
    while (*text) {
        put(json, *text++);
    }
}

static void put_decimal(struct json *json, uint32_t value) {
    char digits[DECIMAL_MAX];
    const uint32_t length = decimal_format(value, digits);
    for (uint32_t i = 0; i < length; i++) {
        put(json, digits[i]);
    }
}

static void put_escaped(struct json *json, const char *text) {
    static const char hex[] = "0123456789abcdef";
    put(json, '"');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            put(json, '\\');
            put(json, (char)c);
        } else if (c < 0x20 || c >= 0x7f) {
            put_text(json, "\\u00");
            put(json, hex[c >> 4]);
            put(json, hex[c & 15]);
        } else {
            put(json, (char)c);
        }
    }
    put(json, '"');
}

static void key(struct json *json, const char *name) {
    put(json, json->first ? '{' : ',');
    json->first = false;
    put(json, '"');
    put_text(json, name);
    put_text(json, "\":");
}

void json_begin(struct json *json, bool (*write)(void *, const char *, uint32_t), void *context) {
    json->write = write;
    json->context = context;
    json->failed = false;
    json->first = true;
    json->used = 0;
}

void json_number(struct json *json, const char *name, uint32_t value) {
    key(json, name);
    put_decimal(json, value);
}

void json_bool(struct json *json, const char *name, bool value) {
    key(json, name);
    put_text(json, value ? "true" : "false");
}

void json_string(struct json *json, const char *name, const char *value) {
    key(json, name);
    put_escaped(json, value);
}

void json_ipv4(struct json *json, const char *name, const uint8_t address[4]) {
    key(json, name);
    for (uint32_t i = 0; i < 4; i++) {
        put(json, i == 0 ? '"' : '.');
        put_decimal(json, address[i]);
    }
    put(json, '"');
}

void json_numbers(struct json *json, const char *name, const uint32_t *values, uint32_t count) {
    key(json, name);
    put(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i != 0) {
            put(json, ',');
        }
        put_decimal(json, values[i]);
    }
    put(json, ']');
}

bool json_end(struct json *json) {
    if (json->first) {
        put(json, '{');
    }
    put_text(json, "}\n");
    flush(json);
    return !json->failed;
}
