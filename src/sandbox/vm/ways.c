/* A socket of UDP that is connected has looked up the way, and has the address that it would send
 * from. */
#include "vm/ways.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/led.h"

#define ANY_PORT 9

static bool is_v4(const uint8_t a[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(a, mapped, sizeof mapped) == 0;
}

/* 2000::/3, of which all public addresses are. */
static bool is_public(const uint8_t a[16])
{
    return a[0] >> 5 == 1;
}

/* false: there is no way to `to`. Of IPv4, *from stays as it is. */
static bool source_for(const uint8_t to[16], uint8_t from[16])
{
    struct sockaddr_storage sa;
    struct sockaddr_in6 own = {0};
    socklen_t size = sockaddr_of(to, ANY_PORT, &sa), own_size = sizeof own;
    scoped_fd int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&sa, size) < 0)
        return false;
    if (is_v4(to))
        return true;
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) < 0)
        return false;
    memcpy(from, &own.sin6_addr, 16);
    return true;
}

bool ways_lead_to(const uint8_t address[16])
{
    static const uint8_t far_v4[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
    uint8_t from[16] = {0};
    if (is_v4(address))
        return true;
    return source_for(address, from) &&
           (!is_public(address) || is_public(from) || !source_for(far_v4, from));
}

uint32_t ways_here(void)
{
    static const uint8_t loopback[16] = {[15] = 1};
    static const uint8_t far_v6[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
    if (!ways_lead_to(loopback))
        return LAN_WAY_V4;
    return LAN_WAY_V4 | LAN_WAY_V6 | (ways_lead_to(far_v6) ? LAN_WAY_V6_FAR : 0u);
}
