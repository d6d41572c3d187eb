/* The objects behind the driver's handles; each knows its context, and is refused in another. */
#ifndef HOLDFAST_FAKE_OBJECTS_H
#define HOLDFAST_FAKE_OBJECTS_H

#include "fake.h"

#define OBJECTS_MAX 4096

enum kind { FREE, CONTEXT, MODULE, STREAM, EVENT, DEVICE_MEMORY, HOST_MEMORY, LOCKED_MEMORY };

struct object {
    enum kind kind;
    struct object *context;
    int device;                   /* contexts */
    void *memory;                 /* memory of all kinds */
    size_t bytes;
    uint64_t time_ns;             /* events; 0 until recorded */
    struct function *functions;   /* modules */
    int count;
};

extern struct object all_objects[OBJECTS_MAX];
extern __thread struct object *current_context;

/* A new object of the current context, or NULL when there are too many. */
struct object *object_make(enum kind kind);
/* Whether it is a live object of that kind in the current context. */
int object_is_ours(const struct object *object, enum kind kind);
/*
 * Frees what it holds. Memory is overwritten first, so that a late reader sees it; locked memory is
 * its owner's, and only forgotten.
 */
void object_drop(struct object *object);
/* Whether the bytes lie in one piece of such memory, of the current context or of any. */
int memory_holds(enum kind kind, uint64_t address, size_t bytes, int is_any_context);

#define NEED_CONTEXT()                              \
    do {                                            \
        if (current_context == NULL)                \
            return CUDA_ERROR_INVALID_CONTEXT;      \
    } while (0)
#define NEED(object, kind)                          \
    do {                                            \
        NEED_CONTEXT();                             \
        if (!object_is_ours(object, kind))          \
            return CUDA_ERROR_INVALID_HANDLE;       \
    } while (0)

#endif
