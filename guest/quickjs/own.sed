# Two places of QuickJS's parser, changed for sessions (own.c). The build checks that both
# were there.
/^    case TOK_RETURN:/,/goto fail/s/if (s->cur_func->is_eval) {/if (s->cur_func->is_eval \&\& !own_session) {/
/^static __exception int js_parse_program/,/^}/s/emit_atom(s, JS_ATOM_value);/emit_atom(s, own_session ? OWN_COMPLETION : JS_ATOM_value);/
