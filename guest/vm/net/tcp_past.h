/* guest/vm/net/tcp_past.h - connections that the machine has from before, when its memory was another
 * machine's: each is reset, none left to hang. Private to net/. */
#pragma once

void past_begin(void); /* all that there are now are of the past */
void past_work(void);  /* resets as many as the card has room for */
