/* One table of all objects, large enough for any test. */
#include "fake-objects.h"

#include <stdlib.h>
#include <string.h>

struct object all_objects[OBJECTS_MAX];
__thread struct object *current_context;

struct object *object_make(enum kind kind)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        if (all_objects[i].kind == FREE) {
            all_objects[i] = (struct object){ .kind = kind, .context = current_context };
            return &all_objects[i];
        }
    }
    return NULL;
}

int object_is_ours(const struct object *object, enum kind kind)
{
    return object >= all_objects && object < all_objects + OBJECTS_MAX && object->kind == kind &&
           object->context == current_context;
}

void object_drop(struct object *object)
{
    if (object->kind != LOCKED_MEMORY && object->memory != NULL) {
        memset(object->memory, 0xdd, object->bytes);
        free(object->memory);
    }
    free(object->functions);
    *object = (struct object){ .kind = FREE };
}

int memory_holds(enum kind kind, uint64_t address, size_t bytes, int is_any_context)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        const struct object *object = &all_objects[i];
        uint64_t start = (uint64_t)(uintptr_t)object->memory;
        if (object->kind == kind && (is_any_context || object->context == current_context) &&
            address >= start && address + bytes <= start + object->bytes)
            return 1;
    }
    return 0;
}

int fake_is_allocated(uint64_t address, size_t bytes)
{
    return memory_holds(DEVICE_MEMORY, address, bytes, 0);
}
