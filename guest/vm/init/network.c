/* IPv4 is set by ioctl(), as any program does it; IPv6 by netlink, since duplicate address detection
 * would keep an address out of use for a second. Only addresses of the plan are ever removed. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/init/log.h"
#include "vm/init/network.h"

#define CARD "eth0"

/* ---- by ioctl() -------------------------------------------------------------------- */

static struct sockaddr in(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct sockaddr out;
    inet_pton(AF_INET, text, &a.sin_addr);
    memcpy(&out, &a, sizeof out);
    return out;
}

/* A machine that was copied has them already. */
static bool set_v4(const uint8_t mac[6])
{
    struct ifreq card = {.ifr_name = CARD};
    struct rtentry route = {.rt_gateway = in(LAN_GATEWAY_TEXT),
                            .rt_dst = in("0.0.0.0"),
                            .rt_genmask = in("0.0.0.0"),
                            .rt_flags = RTF_UP | RTF_GATEWAY};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &card) == 0;
    if (ok && memcmp(card.ifr_hwaddr.sa_data, mac, 6) != 0) {
        memcpy(card.ifr_hwaddr.sa_data, mac, 6);
        ok = ioctl(fd, SIOCSIFHWADDR, &card) == 0;
    }
    card.ifr_addr = in(LAN_MACHINE_TEXT);
    ok = ok && ioctl(fd, SIOCSIFADDR, &card) == 0;
    card.ifr_netmask = in(LAN_MASK_TEXT);
    ok = ok && ioctl(fd, SIOCSIFNETMASK, &card) == 0 &&
         (ioctl(fd, SIOCADDRT, &route) == 0 || errno == EEXIST);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* ---- by netlink -------------------------------------------------------------------- */

struct message {
    struct nlmsghdr head;
    union {
        struct ifaddrmsg address;
        struct rtmsg route;
    } is;
    char attributes[96];
};

static struct message message(uint16_t type, uint16_t flags, uint32_t body_n)
{
    return (struct message){
        .head = {.nlmsg_len = NLMSG_LENGTH(body_n),
                 .nlmsg_type = type,
                 .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)}};
}

static void put(struct message *m, uint16_t type, const void *bytes, uint32_t n)
{
    struct rtattr a = {.rta_len = (uint16_t)RTA_LENGTH(n), .rta_type = type};
    uint32_t at = NLMSG_ALIGN(m->head.nlmsg_len);
    memcpy((char *)m + at, &a, sizeof a);
    memcpy((char *)m + at + RTA_LENGTH(0), bytes, n);
    m->head.nlmsg_len = at + RTA_ALIGN(RTA_LENGTH(n));
}

/* 0, or the kernel's errno. */
static int ask(int fd, const struct message *m)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char more[128];
    } answer;
    if (send(fd, m, m->head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
        return errno;
    return answer.head.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
}

static int address(int fd, bool there, int family, const void *own, uint32_t n,
                   uint32_t card)
{
    uint32_t flags = IFA_F_NODAD;
    struct message m =
        message(there ? RTM_NEWADDR : RTM_DELADDR,
                there ? NLM_F_CREATE | NLM_F_REPLACE : 0, sizeof m.is.address);
    m.is.address =
        (struct ifaddrmsg){.ifa_family = (uint8_t)family,
                           .ifa_prefixlen = family == AF_INET ? LAN_BITS : LAN_V6_BITS,
                           .ifa_index = card};
    put(&m, IFA_LOCAL, own, n);
    put(&m, IFA_ADDRESS, own, n);
    if (there)
        put(&m, IFA_FLAGS, &flags, sizeof flags);
    return ask(fd, &m);
}

static int default_route(int fd, bool there, uint32_t card)
{
    static const uint8_t gateway[16] = LAN_GATEWAY_LINK;
    struct message m =
        message(there ? RTM_NEWROUTE : RTM_DELROUTE,
                there ? NLM_F_CREATE | NLM_F_REPLACE : 0, sizeof m.is.route);
    m.is.route = (struct rtmsg){.rtm_family = AF_INET6,
                                .rtm_table = RT_TABLE_MAIN,
                                .rtm_protocol = RTPROT_STATIC,
                                .rtm_scope = RT_SCOPE_UNIVERSE,
                                .rtm_type = RTN_UNICAST};
    put(&m, RTA_GATEWAY, gateway, sizeof gateway);
    put(&m, RTA_OIF, &card, sizeof card);
    return ask(fd, &m);
}

static bool set_v6(int fd, uint32_t card, uint32_t ways)
{
    static const uint8_t own[16] = LAN_V6(LAN_END_MACHINE);
    bool near = ways & LAN_WAY_V6, far = ways & LAN_WAY_V6_FAR;
    int failed = address(fd, near, AF_INET6, own, sizeof own, card);
    if (!failed || !near)
        failed = default_route(fd, far, card);
    errno = failed;
    return !failed || !far;
}

void network_set(const struct vm_resume *r)
{
    static const uint8_t usual[] = {LAN_MACHINE >> 24, LAN_MACHINE >> 16 & 0xff,
                                    LAN_MACHINE >> 8 & 0xff, LAN_MACHINE & 0xff};
    uint32_t card = if_nametoindex(CARD);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (r->network ? fd < 0 || !set_v4(r->mac) : false)
        log_line("there is no network: %m");
    if (fd >= 0 && card && !r->network)
        (void)address(fd, false, AF_INET, usual, sizeof usual, card);
    if (fd >= 0 && card && !set_v6(fd, card, r->network))
        log_line("there is no network of IPv6: %m");
    if (fd >= 0)
        close(fd);
}
