-- Whether there is something in this road already, or somebody who runs it.
select exists (select from postroad.queue) or exists (select from postroad.token)
    or exists (select from postroad.schedule) or exists (select from postroad.process)
    or exists (select from postroad.mailbox) or exists (select from postroad.credential)
