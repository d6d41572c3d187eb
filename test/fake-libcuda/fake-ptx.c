/* As much of PTX as a driver without a compiler must see: the version, the braces, the entries. */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_VERSION_MAX 9

static size_t align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Reads one `.param [.align N] .TYPE name[COUNT]`; the end of the block, or 0 on an error. */
static size_t read_parameter(const char *text, const char *end, size_t at, struct parameter *out)
{
    size_t alignment = 0, bytes = 0, count = 1;
    for (const char *p = text; p < end; p++) {
        if (strncmp(p, ".align", 6) == 0) {
            alignment = strtoul(p + 6, NULL, 10);
            p += 5;
        } else if (*p == '.' && strchr("usfb", p[1]) != NULL && isdigit((unsigned char)p[2])) {
            if (bytes == 0)
                bytes = strtoul(p + 2, NULL, 10) / 8;
        } else if (*p == '[') {
            count = strtoul(p + 1, NULL, 10);
        }
    }
    if (bytes == 0)
        return 0;
    out->offset = align_up(at, alignment != 0 ? alignment : bytes);
    out->bytes = bytes * count;
    return out->offset + out->bytes;
}

static int read_entry(const char *text, struct function *out)
{
    memset(out, 0, sizeof *out);
    if (sscanf(text, " %63[A-Za-z0-9_$]", out->name) != 1)
        return 0;
    const char *p = strchr(text, '(');
    const char *end = p == NULL ? NULL : strchr(p, ')');
    if (end == NULL)
        return 0;
    size_t at = 0;
    for (p = p + 1; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma == NULL ? end : comma;
        const char *word = p;
        while (word < stop && isspace((unsigned char)*word))
            word++;
        if (word < stop) {
            if (out->count == PARAMETERS_MAX)
                return 0;
            at = read_parameter(word, stop, at, &out->parameters[out->count++]);
            if (at == 0)
                return 0;
        }
        p = stop + 1;
    }
    return 1;
}

static int refuse(int code, const char *why, char *log, size_t log_bytes)
{
    if (log != NULL)
        snprintf(log, log_bytes, "fake ptxas: %s", why);
    return code;
}

int fake_read_ptx(const char *text, struct function *functions, int *count, char *log,
                  size_t log_bytes)
{
    const char *version = strstr(text, ".version");
    if (version == NULL)
        return refuse(CUDA_ERROR_INVALID_PTX, "no .version directive", log, log_bytes);
    if (atoi(version + strlen(".version")) > PTX_VERSION_MAX)
        return refuse(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "unsupported .version", log, log_bytes);
    if (strstr(text, "frobnicate") != NULL)
        return refuse(CUDA_ERROR_INVALID_PTX, "unknown instruction frobnicate", log, log_bytes);
    int depth = 0;
    for (const char *p = text; *p != '\0'; p++)
        depth += (*p == '{') - (*p == '}');
    if (depth != 0)
        return refuse(CUDA_ERROR_INVALID_PTX, "unexpected end of text", log, log_bytes);
    *count = 0;
    for (const char *p = text; (p = strstr(p, ".entry")) != NULL; p += 6) {
        if (*count == FUNCTIONS_MAX || !read_entry(p + 6, &functions[(*count)++]))
            return refuse(CUDA_ERROR_INVALID_PTX, "an entry cannot be read", log, log_bytes);
    }
    return CUDA_SUCCESS;
}
