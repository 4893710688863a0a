/* A serial port that is always ready to send. */
#include "vm/uart.h"
#include "vm/device.h"
#include "vm/host.h"
#include "vm/plic.h"

enum { DATA, ENABLE, IDENTITY, LINE, MODEM, STATUS, MODEM_STATUS, SCRATCH };
#define ENABLE_SENT 2u /* interrupt when all was sent */
#define IDENTITY_NONE 1u
#define IDENTITY_SENT 2u
#define IDENTITY_FIFO 0xc0u
#define LINE_DIVISOR 0x80u /* the first two registers are the divisor's */
#define STATUS_IDLE 0x60u  /* all was sent */
#define MODEM_IDLE 0xb0u   /* connected */

static struct {
    uint8_t enable, line, modem, scratch, divisor[2];
    bool has_sent; /* since the kernel last read the interrupt's cause */
    bool fifo;
} uart;

static bool interrupts(void)
{
    return uart.has_sent && uart.enable & ENABLE_SENT;
}

static uint8_t identity(void)
{
    uint8_t fifo = uart.fifo ? IDENTITY_FIFO : 0;
    if (!interrupts())
        return fifo | IDENTITY_NONE;
    uart.has_sent = false;
    return fifo | IDENTITY_SENT;
}

static uint64_t read_register(void *self, uint64_t offset, uint32_t size)
{
    (void)self, (void)size;
    bool divisor = uart.line & LINE_DIVISOR;
    uint8_t value = 0;
    switch (offset) {
    case DATA:
        value = divisor ? uart.divisor[0] : 0;
        break;
    case ENABLE:
        value = divisor ? uart.divisor[1] : uart.enable;
        break;
    case IDENTITY:
        value = identity();
        break;
    case LINE:
        value = uart.line;
        break;
    case MODEM:
        value = uart.modem;
        break;
    case STATUS:
        value = STATUS_IDLE;
        break;
    case MODEM_STATUS:
        value = MODEM_IDLE;
        break;
    case SCRATCH:
        value = uart.scratch;
        break;
    default:
        break;
    }
    plic_line(UART_LINE, interrupts());
    return value;
}

static void send(uint8_t one)
{
    host_write(VM_LOG, &one, 1);
    uart.has_sent = true;
}

static void write_register(void *self, uint64_t offset, uint32_t size, uint64_t value)
{
    (void)self, (void)size;
    uint8_t one = (uint8_t)value;
    bool divisor = uart.line & LINE_DIVISOR;
    if (divisor && offset <= ENABLE)
        uart.divisor[offset] = one;
    else if (offset == DATA)
        send(one);
    else if (offset == ENABLE) {
        uart.has_sent |= !(uart.enable & ENABLE_SENT) && one & ENABLE_SENT;
        uart.enable = one & 15;
    } else if (offset == IDENTITY)
        uart.fifo = one & 1;
    else if (offset == LINE)
        uart.line = one;
    else if (offset == MODEM)
        uart.modem = one;
    else if (offset == SCRATCH)
        uart.scratch = one;
    plic_line(UART_LINE, interrupts());
}

void uart_init(void)
{
    __builtin_memset(&uart, 0, sizeof uart);
    device_add(&(struct device){.base = UART_BASE,
                                .size = UART_SIZE,
                                .read = read_register,
                                .write = write_register});
}
