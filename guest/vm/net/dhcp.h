/* guest/vm/net/dhcp.h - a DHCP server that has one lease (RFC 2131). Private to net/. */
#pragma once
#include "vm/net/lan.h"

void dhcp_input(const struct packet *p, const uint8_t *at, uint32_t n);
