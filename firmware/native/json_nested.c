#include "json_nested.h"

#include "decimal.h"

static void put(struct json *json, char c) {
    if (json->used == JSON_BUFFER) {
        json->failed = json->failed || !json->write(json->context, json->buffer, json->used);
        json->used = 0;
    }
    json->buffer[json->used++] = c;
}

static void put_quoted(struct json *json, const char *text) {
    put(json, '"');
    while (*text) {
        put(json, *text++);
    }
    put(json, '"');
}

static void key(struct json *json, const char *name) {
    put(json, json->first ? '{' : ',');
    put_quoted(json, name);
    put(json, ':');
}

static void item(struct json *json) {
    if (!json->first) {
        put(json, ',');
    }
    json->first = false;
}

void json_open_object(struct json *json, const char *name) {
    key(json, name);
    json->first = true;
}

void json_close_object(struct json *json) {
    put(json, '}');
    json->first = false;
}

void json_open_list(struct json *json, const char *name) {
    if (name) {
        key(json, name);
    } else {
        item(json);
    }
    put(json, '[');
    json->first = true;
}

void json_item_number(struct json *json, uint32_t value) {
    char digits[DECIMAL_MAX];
    const uint32_t length = decimal_format(value, digits);
    item(json);
    for (uint32_t i = 0; i < length; i++) {
        put(json, digits[i]);
    }
}

void json_item_text(struct json *json, const char *literal) {
    item(json);
    put_quoted(json, literal);
}

void json_close_list(struct json *json) {
    put(json, ']');
    json->first = false;
}
