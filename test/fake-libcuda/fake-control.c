/* The script: what the environment says, and the fault that an earlier kernel left behind. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int poisoned_code;

long fake_setting(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? fallback : strtol(text, NULL, 10);
}

int fake_poison(int code)
{
    poisoned_code = code;
    return code;
}

static void trace(const char *call)
{
    const char *path = getenv("HOLDFAST_FAKE_TRACE");
    if (path == NULL || *path == '\0')
        return;
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return;
    fprintf(file, "%s\n", call);
    fclose(file);
}

/* The code that HOLDFAST_FAKE_FAIL gives a call, or 0. */
static int scripted_code(const char *call)
{
    const char *script = getenv("HOLDFAST_FAKE_FAIL");
    size_t length = strlen(call);
    while (script != NULL && *script != '\0') {
        if (strncmp(script, call, length) == 0 && script[length] == '=')
            return atoi(script + length + 1);
        script = strchr(script, ',');
        if (script != NULL)
            script++;
    }
    return 0;
}

int fake_enter(const char *call)
{
    trace(call);
    int code = scripted_code(call);
    return code != 0 ? code : poisoned_code;
}
