# Places of QuickJS that are changed (own.c): two of its parser, for sessions, and the
# assignment to what a frozen prototype has. The build checks that all were there.
/^    case TOK_RETURN:/,/goto fail/s/if (s->cur_func->is_eval) {/if (s->cur_func->is_eval \&\& !own_session) {/
/^static __exception int js_parse_program/,/^}/s/emit_atom(s, JS_ATOM_value);/emit_atom(s, own_session ? OWN_COMPLETION : JS_ATOM_value);/
/^static int JS_SetPropertyInternal2/,/^}/s/            } else if (!(prs->flags & JS_PROP_WRITABLE)) {/            } else if (!(prs->flags \& JS_PROP_WRITABLE) \&\& !own_is_frozen(p1)) {/
