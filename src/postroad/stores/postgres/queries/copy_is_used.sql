-- Whether there is something in this road already.
select exists (select from postroad.queue) or exists (select from postroad.token)
    or exists (select from postroad.schedule)
