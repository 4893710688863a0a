# Places of QuickJS that are changed (own.c): two of its parser, for sessions; the assignment
# to what a frozen prototype has; two at which code is made of text; the end of splice().
# The build counts them. The time zone is the host's.
/^static int getTimezoneOffset/,/^}/s/^    localtime_r(&ti, &tm);/    return own_zone(time);\n&/
/^    case TOK_RETURN:/,/goto fail/s/if (s->cur_func->is_eval) {/if (s->cur_func->is_eval \&\& !own_session) {/
/^static __exception int js_parse_program/,/^}/s/emit_atom(s, JS_ATOM_value);/emit_atom(s, own_session ? OWN_COMPLETION : JS_ATOM_value);/
/^static int JS_SetPropertyInternal2/,/^}/s/            } else if (!(prs->flags & JS_PROP_WRITABLE)) {/            } else if (!(prs->flags \& JS_PROP_WRITABLE) \&\& !own_is_frozen(p1)) {/
# Places of errors. A call, `new`, a look into an object: where its name begins (the parser
# tells the last name of the arguments); an assignment: where its target begins; a pattern:
# its first name; for...of: what it goes over.
/^static __exception int js_parse_postfix_expr(JSParseState \*s, int parse_flags)$/,/^}/{
s/^    call_type = FUNC_CALL_NORMAL;/    struct own_place own_at = OWN_TOKEN_PLACE;\n&/
s/^            emit_source_loc(s);/            own_at = (struct own_place)OWN_TOKEN_PLACE;/
s/^                emit_op(s, OP_call_constructor);/                OWN_EMIT_PLACE;\n&/
s/^                emit_source_loc(s);//
s/^                \/\* apply function call \*\//                OWN_EMIT_PLACE;\n&/
s/^            emit_func_call:/&\n                OWN_EMIT_PLACE;/
s/^            if (s->token.val == TOK_PRIVATE_NAME) {/            own_at = (struct own_place)OWN_TOKEN_PLACE;\n&/
s/^                    emit_op(s, OP_get_field);/                    OWN_EMIT_PLACE;\n&/
s/^                emit_op(s, OP_scope_get_private_field);/                OWN_EMIT_PLACE;\n&/
s/^                emit_op(s, OP_get_array_el);/                OWN_EMIT_PLACE;\n&/
}
/^static __exception int js_parse_assign_expr2(JSParseState \*s, int parse_flags)$/,/^}/{
s/^    int opcode, op, scope;/&\n    struct own_place own_at = OWN_TOKEN_PLACE;/
s/^        put_lvalue(s, opcode, scope, name, label, PUT_LVALUE_KEEP_TOP, false);/        OWN_EMIT_PLACE;\n&/
}
/^static int js_parse_destructuring_element(/,/^}/{
s/^        emit_op(s, OP_to_object);/        OWN_EMIT_TOKEN_PLACE;\n&/
s/^        emit_op(s, OP_for_of_start);/        OWN_EMIT_TOKEN_PLACE;\n&/
}
/^static __exception int js_parse_for_in_of(/,/^}/{
s/^    BlockEnv break_entry;/&\n    struct own_place own_at;/
s/^        if (js_parse_assign_expr(s))/        own_at = (struct own_place)OWN_TOKEN_PLACE;\n&/
s/^        break_entry.has_iterator = true;/        OWN_EMIT_PLACE;\n&/
}
/^static JSValue JS_EvalObject/,/^}/s/ret = JS_EvalInternal(/ret = own_refuses(ctx, flags) ? JS_EXCEPTION : JS_EvalInternal(/
/^static JSValue js_function_constructor/,/^}/s/JS_EVAL_TYPE_INDIRECT, -1)/JS_EVAL_TYPE_INDIRECT | OWN_FUNCTION, -1)/
/^static JSValue js_array_slice/,/^}/s/for (k = len; k-- > new_len; ) {/for (k = own_is_cut(ctx, obj, len) ? new_len : len; k-- > new_len; ) {/
