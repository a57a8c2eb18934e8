from django.db import models


class Order(models.Model):
    id = models.CharField(max_length=64, primary_key=True)
    paid = models.BooleanField(default=False)
