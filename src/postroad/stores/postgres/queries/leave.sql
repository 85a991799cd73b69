-- A process goes away in good order.
select postroad.leave($1)
