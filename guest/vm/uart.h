/* guest/vm/uart.h - the transmitter of an ns16550, for what a kernel says before it has
 * drivers: it goes to VM_LOG. Nothing is ever received.
 */
#pragma once

#define UART_BASE 0x10000000ull
#define UART_SIZE 0x100ull
#define UART_LINE 31u
#define UART_HZ 3686400u

void uart_init(void); /* and adds it to the devices */
