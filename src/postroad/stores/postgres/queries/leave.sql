-- A process goes away in good order.
select postroad.leave_v1($1)
