/* vm/led.h - the names that led a machine to addresses, and these addresses on this computer. Private
 * to the room vm. Threads: one at a time. */
#pragma once
#include <sys/socket.h>

#include "abi/vm.h"
#include "base/base.h"

#define LED_MAX 1024u /* the oldest is forgotten */
#define LED_NAMES 8u  /* of one address */

struct led_table {
    struct led {
        uint8_t address[16];
        uint64_t until_ns;
        char *name;
    } at[LED_MAX];
    uint32_t next;
};
void led_done(struct led_table *t);
/* The name had this answer: it counts for the answer's time to live, and a minute at least. */
void led_add(struct led_table *t, const char *name, const struct vm_net_answer *a);
/* How many names lead there now; borrowed until led_add(). */
size_t led_find(const struct led_table *t, const uint8_t address[16],
                const char *names[static LED_NAMES]);
/* As the machine names it, and as it is here: 192.168.127.254 is this computer's 127.0.0.1, and its
 * like of IPv6 (abi/plan.h) is ::1. false: it is nobody's. */
bool address_here(const uint8_t from[16], uint8_t to[16]);
socklen_t sockaddr_of(const uint8_t address[16], uint16_t port,
                      struct sockaddr_storage *out);
