/* lwIP: its TCP alone, for one interface, without threads, timers of its own or checksums. Names
 * and values: src/include/lwip/opt.h. */
#pragma once

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_TIMERS 0
#define LWIP_SINGLE_NETIF 1
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_NO_CTYPE_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0

#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_TCP 1
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_ICMP 0
#define LWIP_ICMP6 1 /* its IPv6 does not link without */
#define LWIP_RAW 0
#define LWIP_UDP 0
#define LWIP_DNS 0
#define LWIP_DHCP 0
#define LWIP_IPV6_MLD 0
#define LWIP_IPV6_FRAG 0
#define LWIP_IPV6_REASS 0
#define LWIP_IPV6_DHCP6 0
#define LWIP_ND6_QUEUEING 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0

/* Memory: heap.h. */
#define MEM_CUSTOM_ALLOCATOR 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 8
#define MEM_CUSTOM_MALLOC heap_get
#define MEM_CUSTOM_FREE heap_free
#define MEM_CUSTOM_CALLOC heap_zeros
#include "vm/net/heap.h"

/* The card's driver sums, or need not know. */
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_CHECK_TCP 0
#define CHECKSUM_GEN_IP 1
#define LWIP_CHKSUM_ALGORITHM 3

#define TCP_MSS 1460
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 6
#define TCP_WND (1024 * 1024) /* the largest: tcp_window.h */
#define TCP_SND_BUF (512 * 1024)
#define TCP_SND_QUEUELEN 2048
#define MEMP_NUM_TCP_SEG 2048
#define TCP_SNDLOWAT 32768
#define TCP_SNDQUEUELOWAT 64
#define TCP_OVERSIZE 1460
#define LWIP_TCP_SACK_OUT 1
#define TCP_QUEUE_OOSEQ 1
#define TCP_OOSEQ_MAX_BYTES (512 * 1024)
#define TCP_OOSEQ_MAX_PBUFS 512
#define TCP_LISTEN_BACKLOG 0
#define TCP_MSL 1000 /* nothing is delayed on this wire */
#define TCP_SLOW_INTERVAL 250 /* ms; the shorter interval is tcp.c's own */
#define LWIP_TCP_RTO_TIME 1000 /* ms (RFC 6298) */
#define TCP_SYNMAXRTX 12       /* as often as data: a busy machine may be slow to answer */
#define SO_REUSE 1
#define LWIP_RAND() net_random()
#define LWIP_HOOK_TCP_ISN(local, local_port, remote, remote_port) \
    ((void)(local), (void)(remote), net_random())
unsigned net_random(void);
