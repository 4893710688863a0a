/* The program cloche-sql: no person begins it. */
#include "sql/sql.h"

int main(void)
{
    return sql_worker_main();
}
