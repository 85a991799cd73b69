-- Free the lanes of owners that were not heard from.
select postroad.reap($1)
