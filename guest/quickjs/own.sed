# Places of QuickJS that are changed (own.c): two of its parser, for sessions; the assignment
# to what a frozen prototype has; two at which code is made of text; the end of splice().
# The build counts them.
/^    case TOK_RETURN:/,/goto fail/s/if (s->cur_func->is_eval) {/if (s->cur_func->is_eval \&\& !own_session) {/
/^static __exception int js_parse_program/,/^}/s/emit_atom(s, JS_ATOM_value);/emit_atom(s, own_session ? OWN_COMPLETION : JS_ATOM_value);/
/^static int JS_SetPropertyInternal2/,/^}/s/            } else if (!(prs->flags & JS_PROP_WRITABLE)) {/            } else if (!(prs->flags \& JS_PROP_WRITABLE) \&\& !own_is_frozen(p1)) {/
/^static JSValue JS_EvalObject/,/^}/s/ret = JS_EvalInternal(/ret = own_refuses(ctx, flags) ? JS_EXCEPTION : JS_EvalInternal(/
/^static JSValue js_function_constructor/,/^}/s/JS_EVAL_TYPE_INDIRECT, -1)/JS_EVAL_TYPE_INDIRECT | OWN_FUNCTION, -1)/
/^static JSValue js_array_slice/,/^}/s/for (k = len; k-- > new_len; ) {/for (k = own_is_cut(ctx, obj, len) ? new_len : len; k-- > new_len; ) {/
