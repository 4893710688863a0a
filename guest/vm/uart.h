/* guest/vm/uart.h - the transmitter of an ns16550, for a kernel's messages before it has
 * drivers: they go to VM_LOG. It receives nothing. */
#pragma once

#define UART_BASE 0x10000000ull
#define UART_SIZE 0x100ull
#define UART_LINE 31u
#define UART_HZ 3686400u

void uart_init(void); /* adds it to the devices */
