/* schemas/schemas.h - pieces of the JSON Schemas of actions.
 *
 * What a schema may say is what all of Anthropic, OpenAI, Gemini and VS Code take, who
 * refuse the whole list for one that they do not: see test_schemas.py. So each value has
 * one type, or an anyOf that stands alone; arrays say their items; an object that takes
 * any keys names one of them; what is accepted besides, is checked but not shown
 * (`checked`). That no argument may be given that a schema does not name is not said in
 * each (actions closes them). OpenAI's API refuses a tool whose description has more than
 * 1,024 characters; all tools together have 8 KiB. */
#pragma once

#define STRING "{\"type\":\"string\"}"
#define NAME \
    "{\"type\":\"string\",\"minLength\":1}" /* checked, as OpenAI's strict mode
                                                     has no minLength */
#define STRINGS "{\"type\":\"array\",\"items\":" STRING "}"
/* Of an object that takes any keys one is named: Gemini takes none without. */
#define ANY(key, what)                                         \
    "{\"type\":\"object\",\"properties\":{\"" key "\":" STRING \
    "},\"description\":\"" what "\"}"
#define OBJECT "{\"type\":\"object\"}"
#define BYTES                                                                        \
    "{\"anyOf\":[" STRING ",{\"type\":\"object\",\"properties\":{\"base64\":" STRING \
    "}}]}"

/* Bounds of numbers are checked, and not said in the list: a limit's own message tells. */
#define LEAST_0 ",\"minimum\":0"
#define LEAST_1 ",\"minimum\":1"
#define LEAST_8 ",\"minimum\":8"
#define BOUNDS(least, most) ",\"minimum\":" #least ",\"maximum\":" #most
