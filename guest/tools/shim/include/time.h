/* Tools live in UTC (owner.c). */
#ifndef CLOCHE_TIME_H
#define CLOCHE_TIME_H
#include_next <time.h>
#ifdef __cplusplus
extern "C" {
#endif
extern char *tzname[2];
extern int daylight;
extern long timezone;
void tzset(void);
#ifdef __cplusplus
}
#endif
#endif
