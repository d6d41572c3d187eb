/* Streams and events. Work is done when queued; a script can make the queries say otherwise. */
#include "fake-objects.h"

#include <time.h>

static long busy_left;

void fake_set_busy(long queries)
{
    busy_left = queries;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

EXPORT int cuStreamCreate(struct object **stream, unsigned flags)
{
    ENTER("cuStreamCreate");
    NEED_CONTEXT();
    (void)flags;
    *stream = object_make(STREAM);
    return *stream == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT int cuStreamDestroy_v2(struct object *stream)
{
    ENTER("cuStreamDestroy_v2");
    NEED(stream, STREAM);
    object_drop(stream);
    return CUDA_SUCCESS;
}

static int query(void)
{
    if (busy_left == 0)
        return CUDA_SUCCESS;
    if (busy_left > 0)
        busy_left--;
    return CUDA_ERROR_NOT_READY;
}

#ifndef WITHOUT_STREAM_QUERY
EXPORT int cuStreamQuery(struct object *stream)
{
    ENTER("cuStreamQuery");
    NEED(stream, STREAM);
    return query();
}
#endif

EXPORT int cuEventCreate(struct object **event, unsigned flags)
{
    ENTER("cuEventCreate");
    NEED_CONTEXT();
    (void)flags;
    *event = object_make(EVENT);
    return *event == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT int cuEventDestroy_v2(struct object *event)
{
    ENTER("cuEventDestroy_v2");
    NEED(event, EVENT);
    object_drop(event);
    return CUDA_SUCCESS;
}

EXPORT int cuEventRecord(struct object *event, struct object *stream)
{
    ENTER("cuEventRecord");
    NEED(event, EVENT);
    NEED(stream, STREAM);
    event->time_ns = now_ns();
    return CUDA_SUCCESS;
}

EXPORT int cuEventQuery(struct object *event)
{
    ENTER("cuEventQuery");
    NEED(event, EVENT);
    return query();
}

EXPORT int cuEventElapsedTime(float *milliseconds, struct object *start, struct object *end)
{
    ENTER("cuEventElapsedTime");
    NEED(start, EVENT);
    NEED(end, EVENT);
    if (start->time_ns == 0 || end->time_ns == 0)
        return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = (float)((double)(end->time_ns - start->time_ns) / 1e6);
    return busy_left == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
